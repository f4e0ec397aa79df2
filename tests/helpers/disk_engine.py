"""A deliberately simple engine: parts lie on the disk, and every part is a process's business.

It shows that the seam is real: nothing of it knows threads, blocks or refinement of the local
engine. A part goes to a worker as a file and comes back as a file, as it would go to another
machine; no worker sees another part, and which worker is first does not matter.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.engine.grouping import follow_measure, merge_violating
from shoal.engine.local import LocalEngine, suppress_outliers
from shoal.errors import OptionError
from shoal.kernels.callers import trust
from shoal.runtime.progress import no_progress
from shoal.search.enforce import violations
from shoal.search.refine import EFFORTS, refine_partition
from shoal.search.scan import no_warning
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from pathlib import Path

trust("tests")  # in workers, too

PART_ROWS = 60


def read_part(folder, number):
    """Return rows, table, algorithm and run of a part."""
    return pickle.loads((folder / f"part {number}").read_bytes())  # noqa: S301 - written by us


def cluster_part(folder, number):
    """In a worker: group the rows of one part; its file becomes a file of labels."""
    _, table, algorithm, run = read_part(folder, number)
    np.save(folder / f"labels {number}.npy", algorithm.partition(table, run).labels)


def enforce_part(folder, number):
    """In a worker: merge the groups of one part that break a promise."""
    from shoal.search.enforce import enforce

    _, table, _, run = read_part(folder, number)
    labels = np.load(folder / f"labels {number}.npy")
    held = enforce(
        table, Partition.from_labels(labels), run.scanner, run.k, run.privacy, run.progress
    )
    np.save(folder / f"labels {number}.npy", held.labels)


def refine_part(folder, number, effort):
    """In a worker: lower the loss of the groups of one region."""
    _, table, _, run = read_part(folder, number)
    labels = np.load(folder / f"labels {number}.npy")
    found = refine_partition(table, Partition.from_labels(labels), run, effort)
    np.save(folder / f"labels {number}.npy", found.labels)


class DiskEngine:
    """Parts of neighbouring rows, one process each; the rest is done where it is started."""

    def __init__(self, folder: Path) -> None:
        self._local = LocalEngine()
        self._folder = folder
        self._numbers = itertools.count()
        fresh = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(2, mp_context=fresh)
        # what the driver does by itself is done as on one machine
        for stage in ("describe", "find_dangers", "publish", "verify", "measure"):
            setattr(self, stage, getattr(self._local, stage))
        self.parts_made = 0

    def close(self):
        self._pool.shutdown()

    def group(self, work):
        def regroup(of):
            return follow_measure(of, self.form_groups(of), self.form_groups)

        return work.in_input_order(suppress_outliers(work, regroup(work), regroup))

    def form_groups(self, work):
        parts = self.cut(work)
        self._each(cluster_part, parts)
        if work.run.privacy:
            self._each(enforce_part, parts)
        groups = self.refine(work, self._collect(work, parts), parts)
        return merge_violating(work, groups)

    def cut(self, work):
        if not work.algorithm.works_in_blocks:
            if work.request.block_rows is not None:
                raise OptionError("This algorithm needs the whole table.")
            return self._put_down(work, [np.arange(work.table.n_rows)])
        codes = [attribute.codes for attribute in work.table.attributes]
        order = np.lexsort(codes)
        n_parts = max(1, work.table.n_rows // max(PART_ROWS, 4 * work.run.k))
        return self._put_down(work, self._possible(work, np.array_split(order, n_parts)))

    def _possible(self, work, parts):
        """Join neighbours until every part can keep the promises by itself."""
        found = [parts[0]]
        for part in parts[1:]:
            if self._keeps(work, found[-1]) and self._keeps(work, part):
                found.append(part)
            else:
                found[-1] = np.concatenate((found[-1], part))
        return found

    def _keeps(self, work, rows):
        table, alone = work.table.take(rows), Partition(np.zeros(len(rows), np.int32), 1)
        return not violations(table, alone, work.run.k, work.run.privacy).any()

    def _put_down(self, work, parts):
        """Write every part to a file that says all a worker has to know."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        generators = work.run.rng.spawn(len(parts))
        for number, rows in enumerate(parts):
            allowed = work.run.max_suppressed
            share = None if allowed is None else allowed * len(rows) // work.table.n_rows
            run = replace(
                work.run,
                model=work.run.model.take(rows),
                scanner=work.run.scanner.take(rows),
                rng=generators[number],
                threads=1,
                progress=no_progress,
                warn=no_warning,
                max_suppressed=share,
            )
            content = (rows, work.table.take(rows), work.algorithm.for_blocks, run)
            (folder / f"part {number}").write_bytes(pickle.dumps(content))
        self.parts_made += len(parts)
        return folder, len(parts)

    def _collect(self, work, parts):
        folder, n_parts = parts
        labels = np.full(work.table.n_rows, -1, np.int32)
        n_groups = 0
        for number in range(n_parts):
            rows = read_part(folder, number)[0]
            own = np.load(folder / f"labels {number}.npy")
            labels[rows] = np.where(own < 0, -1, own + n_groups)
            n_groups += int(own.max(initial=-1)) + 1
        return Partition(labels, n_groups)

    def _each(self, function, parts, *more):
        folder, n_parts = parts
        waiting = [self._pool.submit(function, folder, number, *more) for number in range(n_parts)]
        for each in reversed(waiting):  # whichever is ready first
            each.result()

    def refine(self, work, groups, parts):
        """Regions of groups that begin alike, cut elsewhere than the parts."""
        if parts[1] == 1 and work.request.refine is None:
            return groups
        if groups.recoded or groups.n_groups < 2:
            return groups
        heads = groups.order[groups.starts[:-1]]
        codes = [attribute.codes[heads] for attribute in reversed(work.table.attributes)]
        regions = np.array_split(np.lexsort(codes), max(1, groups.n_groups // 20))
        members = [np.concatenate([groups.rows_of(int(g)) for g in region]) for region in regions]
        places = self._put_down(work, members)
        for number, rows in enumerate(members):
            np.save(
                places[0] / f"labels {number}.npy",
                Partition.from_labels(groups.labels[rows]).labels,
            )
        self._each(refine_part, places, EFFORTS[work.request.refine or "fast"])
        return self._collect(work, places)
