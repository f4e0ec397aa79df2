"""A site: its rows, its part in cutting all rows into regions, and the union it verifies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.api import anonymize, verify
from shoal.errors import DataError, OptionError
from shoal.io.atomic import AtomicGroup
from shoal.publish.recode import RowHash, Style, recode
from shoal.release.verified_write import stage_judged
from shoal.settings.inputs import read_input
from shoal.sites.regions import Search
from shoal.sites.sharing import Sharing
from shoal.sites.transcript import Transcript
from shoal.sites.wire import Line, SitesError
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.verify import Verification
    from shoal.settings.files import Input
    from shoal.sites.agreement import Agreement
    from shoal.sites.keys import Identity
    from shoal.sites.regions import Found

    Ints = NDArray[np.int64]

_MOST_LINES = 1 << 25


@dataclass(frozen=True, eq=False)
class Union:
    """What all sites publish together.

    Attributes:
        frame: the rows of all sites, in an order that is a function of these rows alone.
        verification: what was measured in the written file.
        transcript: how many messages came and went, and how many bytes.
    """

    frame: pl.DataFrame
    verification: Verification
    transcript: Transcript


def serve(
    agreement: Agreement,
    me: Identity,
    source: Input,
    output: str,
    *,
    transcript: Path | None = None,
    patience: float,
    tell: Callable[[str], None],
) -> Union:
    """Take part in a run: share counts, and write the union once all sites have verified it.

    Args:
        agreement: what all parties agree on.
        me: the own key.
        source: the own table.
        output: the file of the union.
        transcript: a file for what this site has seen.
        patience: seconds to wait for another party.
        tell: told who is waited for.

    Raises:
        SitesError: the run has ended without a release, at every site.
        DataError: the own table does not fit the job.
    """
    if me.name not in agreement.sites:
        raise OptionError(
            "The key {name!r} is no site's; start the coordinator with 'shoal sites run'.",
            name=me.name,
        )
    seen = Transcript()
    line = Line(agreement, me, seen, patience=patience, tell=tell)
    try:
        frame, columns, secrets = _read(agreement, source)
        line.start()
        sharing = Sharing(line)
        found = Search(agreement, columns, secrets, sharing).run()
        union = _union(agreement, line, sharing, frame, secrets, found)
        with AtomicGroup() as group:
            verification = stage_judged(group, union, output, partial(_judge, agreement))
            line.all_have(sha256(union.write_csv().encode()).digest())
            if transcript is not None:
                group.add(transcript, seen.text()).chmod(0o600)
        line.end()
    except SitesError as error:
        line.stop(error)
        raise
    except BaseException:
        line.stop(SitesError("failed", me.name))
        raise
    finally:
        line.close()
    return Union(union, verification, seen)


def _read(agreement: Agreement, source: Input) -> tuple[pl.DataFrame, list[Ints], list[Ints]]:
    """Return the columns of a table that are published, and their codes.

    Raises:
        DataError: a column is missing, or a cell is outside of what the job says.
    """
    import polars as pl

    names = [*(each.name for each in agreement.columns), *agreement.values]

    def needed(found: list[str]) -> list[str]:
        for name in names:
            if name not in found:
                raise DataError("The table has no column {name!r}, which the job names.", name=name)
        return names

    frame = read_input(source, details=agreement.job.schema_options(), columns=needed)
    columns = [each.codes(frame.get_column(each.name)) for each in agreement.columns]
    secrets = [agreement.sensitive_codes(n, frame.get_column(n)) for n in agreement.values]
    cells: list[pl.Series] = []
    for column, codes in zip(agreement.columns, columns, strict=True):
        if column.tree is None:
            cells.append(frame.get_column(column.name).cast(pl.Int64))
        else:
            cells.append(_texts(column.name, column.tree.leaf_labels, codes))
    cells += [
        _texts(name, values, codes)
        for (name, values), codes in zip(agreement.values.items(), secrets, strict=True)
    ]
    return pl.DataFrame(cells), columns, secrets


def _texts(name: str, labels: Sequence[str], codes: Ints) -> pl.Series:
    import polars as pl

    return pl.Series(name, labels, pl.String).gather(codes)


def _union(
    agreement: Agreement,
    line: Line,
    sharing: Sharing,
    frame: pl.DataFrame,
    secrets: list[Ints],
    found: Found,
) -> pl.DataFrame:
    """Return the published rows of all sites; which site a row is of is not in it."""
    import polars as pl

    joint = _joint_rows(agreement, sharing, secrets, found)
    own = _own_rows(agreement, frame, found)
    given = json.dumps(own.rows()).encode()
    parts = [joint, own]
    for place, each in enumerate(line.exchange("published rows of one site", given, None)):
        try:
            rows = json.loads(each)
            parts.append(pl.DataFrame(rows, schema=own.schema, orient="row", strict=True))
        except (ValueError, TypeError, pl.exceptions.PolarsError):
            raise line.malformed(place) from None
    union = pl.concat(parts)
    hashes = RowHash(union.height)
    for column in union.get_columns():
        hashes.add(column)
    return union[hashes.order()]


def _joint_rows(
    agreement: Agreement, sharing: Sharing, secrets: list[Ints], found: Found
) -> pl.DataFrame:
    """Return the rows of regions that sites publish together, by sums of what is in them."""
    import polars as pl

    n_values = [len(values) for values in agreement.values.values()]
    n_all = int(np.prod(n_values, dtype=np.int64))
    if n_all * len(found.joint) > _MOST_LINES:
        raise DataError(
            "The sensitive columns have too many combinations of values for {n} groups; publish "
            "fewer of them.",
            n=len(found.joint),
        )
    tuples = np.zeros(len(secrets[0]) if secrets else 0, np.int64)
    for codes, n in zip(secrets, n_values, strict=True):
        tuples = tuples * n + codes
    counts = np.zeros((len(found.joint), n_all), np.int64)
    for place, region in enumerate(found.joint):
        if secrets:
            counts[place] = np.bincount(tuples[region.rows], minlength=n_all)
        else:
            counts[place, 0] = len(region.rows)
    sums = sharing.open_sums("published", counts.ravel()).reshape(counts.shape)
    sizes = sums.sum(axis=1)
    known = np.array([each.total for each in found.joint], np.int64)
    if np.any((sums < 0) | (sums > known[:, None])) or np.any(sizes != known):
        raise SitesError("do not fit")
    groups, values = np.nonzero(sums)
    times = sums[groups, values]
    cells = _cells(agreement, found).select(pl.all().gather(np.repeat(groups, times)))
    published = []
    for (name, listed), n in reversed(list(zip(agreement.values.items(), n_values, strict=True))):
        values, code = np.divmod(values, n)
        published.append(_texts(name, listed, np.repeat(code, times)))
    return cells.with_columns(published[::-1])


def _cells(agreement: Agreement, found: Found) -> pl.DataFrame:
    """Return what each joint region publishes, written as every release of Shoal is.

    Two rows stand for a region, of its lowest and its highest codes: what these have in common is
    what all of it has.
    """
    import polars as pl

    names = [each.name for each in agreement.columns]
    if not found.joint:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    ends: dict[str, Any] = {}
    for place, column in enumerate(agreement.columns):
        first = np.array([each.codes[place][0] for each in found.joint])
        last = np.array([each.codes[place][-1] for each in found.joint])
        if column.tree is None:
            ends[column.name] = np.stack(column.ends(first, last), axis=1).ravel()
        else:
            leaves = np.stack([first, last], axis=1).ravel()
            ends[column.name] = _texts(column.name, column.tree.leaf_labels, leaves)
    corners = pl.DataFrame(ends)
    schema = build_schema(names, quasi_identifiers=names, **_said(agreement))
    schema = infer_kinds(schema, nw.from_native(corners))
    groups = Partition.from_labels(np.repeat(np.arange(len(found.joint)), 2))
    written, _ = recode(corners, schema, encode(corners, schema), groups, Style(), shuffle=False)
    return written[::2].with_columns(pl.all().cast(pl.String))


def _own_rows(agreement: Agreement, frame: pl.DataFrame, found: Found) -> pl.DataFrame:
    """Return the release of the rows that this site publishes by itself."""
    import polars as pl

    if not found.own:
        return pl.DataFrame(schema=dict.fromkeys(frame.columns, pl.String))
    rows = np.sort(np.concatenate(found.own))
    release = anonymize(
        frame[rows],
        agreement.k,
        quasi_identifiers=[each.name for each in agreement.columns],
        sensitive=list(agreement.values),
        privacy=agreement.privacy,
        **_said(agreement),
    )
    return release.frame.select(frame.columns).with_columns(pl.all().cast(pl.String))


def _said(agreement: Agreement) -> dict[str, Any]:
    """Return what is said about the quasi-identifiers."""
    return {
        "hierarchies": {e.name: e.tree for e in agreement.columns if e.tree is not None},
        "kinds": {e.name: "numeric" for e in agreement.columns if e.tree is None},
    }


def _judge(agreement: Agreement, written: pl.DataFrame) -> Verification:
    """Return what anybody finds in the written rows."""
    return verify(
        written,
        agreement.k,
        quasi_identifiers=[each.name for each in agreement.columns],
        sensitive=list(agreement.values),
        privacy=agreement.privacy,
    )
