"""A release beside those that are already out: the guarantee of docs/life-of-a-release.md.

People with the same story, who were in the same groups of the same releases, are an *atom*. A new
release publishes of an atom either nobody, or at least k people together. With ℓ-diversity, those
of an atom who are published and those who are not must each have ℓ values that did not change; a
few who could be published are held back where somebody left, so that what is missing does not
tell what the one who left had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.archive.kept import digests_of
from shoal.engine.blocks import Blocks, cluster_blocks, put_together
from shoal.engine.grouping import form_groups, merge_violating
from shoal.engine.local import LocalEngine
from shoal.errors import DataError, OptionError, PromiseError
from shoal.life.guarantee import (
    CHANGED,
    check_chain,
    checks_over_all,
    few_missing,
    given_up,
    judge_over_all,
    needed_values,
    stories_with,
    tell_stories,
)
from shoal.messages import Message
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.archive.release_file import KeptRelease
    from shoal.engine.grouping import LocalWork
    from shoal.engine.pipeline import Task
    from shoal.life.guarantee import Stories
    from shoal.publish.release_data import PublishedTable
    from shoal.publish.verify import Verification


NEW = -1


@dataclass(frozen=True, eq=False)
class _Plan:
    """What becomes of each row of the input.

    Attributes:
        atom: number of its person's atom; -1 if the person is new.
        wait: which rows cannot be published.
        lasting: by column, the value that the person had in all releases and has now.
    """

    atom: NDArray[np.int64]
    wait: NDArray[np.bool_]
    lasting: dict[str, NDArray[np.int64]]
    needed: dict[str, int]


class AgainEngine(LocalEngine):
    """One machine, with earlier releases in mind.

    Args:
        previous: all releases of these people that are out.
        made: the attributes of a `LocalEngine`.
    """

    def __init__(self, previous: tuple[KeptRelease, ...], **made: Any) -> None:
        super().__init__(**made)
        self.previous = previous
        self.people = check_chain(previous)
        self.plan: _Plan | None = None
        self.warn: Callable[[str], None] = lambda _: None

    def describe(self, task: Task[Any]) -> LocalWork:
        """Encode the table, and hold back who cannot be published beside what is out."""
        schema, request, warn = task.schema, task.request, task.warn
        if schema.person is None:
            raise OptionError(
                "A release beside others must know whose rows they are; name the column with "
                "person=... (--person on the command line)."
            )
        if request.max_suppression > 0:
            raise OptionError(
                "With previous, rows that cannot be published wait, and no others are left out; "
                "leave max_suppression out."
            )
        lost = given_up(self.previous, request, schema)
        if lost and not request.weaken:
            raise OptionError(
                "A release that is out promises {lost}: ask for as much, or give it up with "
                "weaken=True (--weaken).",
                lost="; ".join(lost),
            )
        self.warn = warn
        if request.pseudonyms:
            raise OptionError("Pseudonyms tell who is who in two releases; leave them out.")
        work = super().describe(task)
        for each in lost:
            warn(_says_given_up(each))
        if work.algorithm.suppresses or not work.algorithm.works_in_blocks:
            raise OptionError(
                "Algorithm {name!r} generalises whole columns or leaves rows out by itself, "
                "which releases beside others cannot have; choose another one.",
                name=work.algorithm.name,
            )
        if work.whole.person is not None:
            raise DataError(
                "A person has several rows, or rows have no person; releases beside others need "
                "one row for each person: put the rows of a person together first."
            )
        self.plan = plan = self._decide(work)
        held = np.flatnonzero(plan.wait[work.rows])
        if len(held):
            warn(
                Message(
                    "{n:,} of {n_rows:,} rows wait: published now, somebody could be found beside "
                    "the earlier releases.",
                    n=len(held),
                    n_rows=work.whole.n_rows,
                )
            )
        if len(held) == len(work.rows):
            raise PromiseError(
                "None of the rows can be published beside the earlier releases; wait for more "
                "people, or ask for a smaller k."
            )
        return work.without(held, 0) if len(held) else work

    def _decide(self, work: LocalWork) -> _Plan:
        ids = work.frame.get_column(str(work.schema.person))
        key = self.people[0].key if self.people else bytes(32)
        digests = digests_of(ids, key)
        needed = needed_values(work.request.privacy, work.schema)
        values = {name: work.frame.get_column(name) for name in needed}
        stories, now = tell_stories(self.previous, list(needed), digests, values)
        taking = np.zeros(work.whole.n_rows, np.bool_)
        taking[work.rows] = True
        plan = _decide(stories, now, taking, work.run.k, needed)
        fresh = work.rows[(plan.atom[work.rows] == NEW)]
        if len(fresh) and not self._possible(work, fresh):
            plan.wait[fresh] = True
        return plan

    def _possible(self, work: LocalWork, fresh: NDArray[np.int64]) -> bool:
        """Return whether the people who are new can be published by themselves."""
        others = np.flatnonzero(~np.isin(work.rows, fresh))
        try:
            (work.without(others, 0) if len(others) else work).check_possible()
        except PromiseError:
            return False
        return True

    def group(self, work: LocalWork) -> Partition:
        """Group the people who are new; the others stay with those who share their story.

        Groups that break a promise are merged: whole groups may join, single rows may not.
        """
        assert self.plan is not None
        atom = self.plan.atom[work.rows]
        fresh, old = np.flatnonzero(atom == NEW), np.flatnonzero(atom != NEW)
        members, groups = [], []
        if len(fresh):
            inner = work.without(old, 0) if len(old) else work
            inner = replace(inner, run=replace(inner.run, k=self._size(work, len(fresh))))
            members.append(fresh)
            groups.append(form_groups(inner))
        if len(old):
            members.append(old)
            groups.append(self._split(work, old, Partition.from_labels(atom[old])))
        together = put_together(work.table.n_rows, members, groups)
        return work.in_input_order(merge_violating(work, together))

    @staticmethod
    def _size(work: LocalWork, n_rows: int) -> int:
        size = math.ceil(work.run.k * work.request.reserve)
        return size if n_rows >= size else work.run.k

    def _split(self, work: LocalWork, old: NDArray[np.int64], atoms: Partition) -> Partition:
        """Split atoms that have people for several groups, where each part keeps enough values."""
        assert self.plan is not None
        size = self._size(work, work.table.n_rows)
        large = np.flatnonzero(atoms.sizes >= 2 * size)
        if not len(large):
            return atoms
        order = np.argsort(atoms.labels, kind="stable")
        starts = np.concatenate(([0], np.cumsum(atoms.sizes)))
        blocks = [order[starts[each] : starts[each + 1]] for each in large]
        run = replace(work.run, k=size, privacy=())
        rows = tuple(old[each] for each in blocks)
        found = cluster_blocks(work.table, work.algorithm, run, Blocks(rows, whole=False))
        labels = atoms.labels.astype(np.int64)
        for block in blocks:
            parts = found.labels[old[block]]
            inside = [work.rows[old[block[parts == each]]] for each in np.unique(parts)]
            if all(_enough(self.plan, each) for each in inside):
                labels[block] = atoms.n_groups + parts
        return Partition.from_labels(labels)

    def verify(self, work: LocalWork, published: PublishedTable) -> Verification:
        """Check every promise of the release alone, and the guarantee over all releases."""
        alone = super().verify(work, published)
        k, schema = int(work.request.k), work.schema
        needed = needed_values(work.request.privacy, schema)
        more = [*checks_over_all(self.previous, published, schema, k, needed)]
        for check in judge_over_all(self.previous, published, schema, needed):
            if check.holds or not work.request.weaken:
                more.append(check)
            else:
                self.warn(_says_given_up(check.name))
        _, before = stories_with(self.previous, published, schema, ())
        if few_missing(before, k)[0]:
            self.warn(_says_few_left(k))
        holds = alone.holds and all(check.holds for check in more)
        return replace(alone, holds=holds, checks=(*alone.checks, *more))


def _says_given_up(promise: str) -> Doubt:
    said = Message("A promise of a release that is out is given up: {promise}.", promise=promise)
    return Doubt(said, OpenPoint("earlier releases", said))


def _says_few_left(k: int) -> Doubt:
    """Say that people left; how many is not published."""
    short = Message(
        "Fewer than {k:,} people of an earlier group are missing now, and its others are not", k=k
    )
    return Doubt(
        Message(
            "{short}: whoever has both releases and knows who is missing finds their earlier rows "
            "among fewer than {k:,}.",
            short=short,
            k=k,
        ),
        OpenPoint("few left", Message("{short}: their earlier rows can be found.", short=short)),
    )


def _enough(plan: _Plan, rows: NDArray[np.int64]) -> bool:
    """Return whether people have enough values between them that did not change."""
    for name, least in plan.needed.items():
        values = plan.lasting[name][rows]
        if len(np.unique(values[values >= 0])) < least:
            return False
    return True


def _decide(
    stories: Stories,
    now: dict[str, NDArray[np.int64]],
    taking: NDArray[np.bool_],
    k: int,
    needed: dict[str, int],
) -> _Plan:
    """Return who can be published.

    Args:
        stories: of everybody.
        now: by column, the present value of each row.
        taking: which rows take part at all.
        k: people of an atom who must be published together.
        needed: by column, how many values must be left.
    """
    atoms = stories.atoms()
    n_rows = len(taking)
    atom, wait = np.full(n_rows, NEW, np.int64), np.zeros(n_rows, np.bool_)
    past = {name: stories.lasting(name) for name in needed}
    lasting = {name: np.array(codes) for name, codes in now.items()}
    has_past = (stories.groups >= 0).any(axis=1)
    known = np.flatnonzero(has_past & (stories.row >= 0))
    rows = stories.row[known]
    atom[rows] = atoms[known]
    for name in needed:
        same = past[name][known] == now[name][rows]
        lasting[name][rows] = np.where(same, now[name][rows], CHANGED)
    there = np.zeros(len(atoms), np.bool_)
    there[known] = taking[rows]
    order = np.flatnonzero(has_past)
    order = order[np.argsort(atoms[order], kind="stable")]
    cuts = np.flatnonzero(np.diff(atoms[order], prepend=-1))
    for members in np.split(order, cuts[1:]) if len(order) else []:
        stay, gone = members[there[members]], members[~there[members]]
        if not len(stay):
            continue
        kept = _stayers(stay, gone, k, needed, past, lasting, stories.row)
        wait[stories.row[np.setdiff1d(stay, kept)]] = True
    return _Plan(atom, wait, lasting, needed)


def _stayers(
    stay: NDArray[np.int64],
    gone: NDArray[np.int64],
    k: int,
    needed: dict[str, int],
    past: dict[str, NDArray[np.int64]],
    lasting: dict[str, NDArray[np.int64]],
    row: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return who of an atom can be published: nobody, or enough with enough values.

    Where somebody is gone, those who are not published must have enough values, too; the fewest
    who can bring that about are held back, of frequent values first.
    """
    nobody = np.empty(0, np.int64)
    held: list[int] = []
    for name, least in needed.items() if len(gone) else ():
        before = past[name]
        away = {int(v) for v in before[[*gone, *held]] if v >= 0}
        while len(away) < least:
            left = np.setdiff1d(stay, held)
            codes = before[left]
            usable = (codes >= 0) & ~np.isin(codes, list(away))
            if not usable.any():
                return nobody
            values, counts = np.unique(codes[usable], return_counts=True)
            value = values[np.argmax(counts)]
            held.append(int(left[usable][codes[usable] == value][0]))
            away.add(int(value))
    left = np.setdiff1d(stay, held)
    if len(left) < k:
        return nobody
    for name, least in needed.items():
        codes = lasting[name][row[left]]
        if len(np.unique(codes[codes >= 0])) < least:
            return nobody
    return left
