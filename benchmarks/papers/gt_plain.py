"""The three clustering algorithms of Goldberger and Tassa's Fig. 2 as published, nothing skipped.

Cells are kept or suppressed, so a closure is a code per column or ANY, and the cost of a group is
its size times its suppressed columns. Every step looks at every record or cluster that it names;
one core; times are CPU seconds, which other programs do not lengthen much.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from benchmarks.papers.features import encoded
from benchmarks.papers.gt_runs import VARIANTS, adult, described
from benchmarks.papers.plain_times import plain_time

ANY = -1
PLAIN = ("sequential", "agglomerative", "k-member")


@njit
def lost_with(closure, row):
    """Suppressed columns of a closure that takes a row in."""
    total = 0
    for j in range(row.shape[0]):
        if closure[j] != row[j]:  # ANY differs from every code
            total += 1
    return total


@njit
def take_in(closure, row):
    """Let a closure cover a row."""
    for j in range(row.shape[0]):
        if closure[j] != row[j]:
            closure[j] = ANY


@njit
def lost_by(closure):
    """Suppressed columns of a closure."""
    total = 0
    for j in range(closure.shape[0]):
        if closure[j] == ANY:
            total += 1
    return total


@njit
def lost_together(a, b):
    """Suppressed columns of what covers two closures."""
    total = 0
    for j in range(a.shape[0]):
        if a[j] != b[j] or a[j] == ANY:
            total += 1
    return total


@njit
def k_member(codes, k, first):
    """Byun's algorithm: the furthest record, then always the record that costs least."""
    n = codes.shape[0]
    label = np.full(n, -1, np.int64)
    n_groups = n // k
    closures = np.empty((n_groups, codes.shape[1]), np.int64)
    left = np.arange(n)
    n_left = n
    last = first
    for g in range(n_groups):
        for size in range(k):
            best, cost = -1, 0
            for p in range(n_left):
                if size == 0:
                    c = -lost_with(codes[last], codes[left[p]])
                else:
                    c = lost_with(closures[g], codes[left[p]])
                if best < 0 or c < cost:
                    best, cost = p, c
            row = left[best]
            if size == 0:
                closures[g] = codes[row]
            else:
                take_in(closures[g], codes[row])
            label[row] = g
            last = row
            n_left -= 1
            left[best] = left[n_left]
    sizes = np.full(n_groups, k)
    for p in range(n_left):
        best, cost = 0, 1 << 60
        for g in range(n_groups):
            before = sizes[g] * lost_by(closures[g])
            rise = (sizes[g] + 1) * lost_with(closures[g], codes[left[p]]) - before
            if rise < cost:
                best, cost = g, rise
        label[left[p]] = best
        take_in(closures[best], codes[left[p]])
        sizes[best] += 1
    return label


@njit
def close_all(codes, label, n_groups):
    """Closures and sizes of all groups."""
    closures = np.empty((n_groups, codes.shape[1]), np.int64)
    sizes = np.zeros(n_groups, np.int64)
    for i in range(codes.shape[0]):
        g = label[i]
        if sizes[g] == 0:
            closures[g] = codes[i]
        else:
            take_in(closures[g], codes[i])
        sizes[g] += 1
    return closures, sizes


@njit
def one_pass(codes, label, n_groups, members, n_members):  # noqa: C901 - as published
    """Steps 2 to 8 of Algorithm 1; returns how many records moved."""
    closures, sizes = close_all(codes, label, n_groups)
    rest = np.empty(codes.shape[1], np.int64)
    moved = 0
    for i in range(codes.shape[0]):
        j = label[i]
        gain = 0
        if sizes[j] > 1:
            started = False
            for p in range(n_members[j]):
                m = members[j, p]
                if m != i:
                    if started:
                        take_in(rest, codes[m])
                    else:
                        rest[:] = codes[m]
                        started = True
            gain = sizes[j] * lost_by(closures[j]) - (sizes[j] - 1) * lost_by(rest)
        best, least = -1, 1 << 60
        for h in range(n_groups):
            if h == j or sizes[h] == 0:
                continue
            rise = (sizes[h] + 1) * lost_with(closures[h], codes[i]) - sizes[h] * lost_by(
                closures[h]
            )
            if rise < least:
                best, least = h, rise
        if best < 0 or (sizes[j] > 1 and least >= gain) or n_members[best] >= members.shape[1]:
            continue
        for p in range(n_members[j]):
            if members[j, p] == i:
                members[j, p] = members[j, n_members[j] - 1]
                break
        n_members[j] -= 1
        members[best, n_members[best]] = i
        n_members[best] += 1
        closures[j] = rest
        take_in(closures[best], codes[i])
        sizes[j] -= 1
        sizes[best] += 1
        label[i] = best
        moved += 1
    return moved


def sequential(codes: Any, k: int, rng: np.random.Generator) -> Any:
    """Algorithm 1 with alpha 0.5 and omega 1.5; returns the group of each record."""
    return unify(codes, move_records(codes, k, rng)[0], k)


def move_records(
    codes: Any, k: int, rng: np.random.Generator, *, passes: int = 100
) -> tuple[Any, int]:
    """Steps 1 to 10; returns the group of each record, and how many passes were made."""
    n = len(codes)
    parts = max(1, n // max(1, round(0.5 * k)))
    label = np.empty(n, np.int64)
    label[rng.permutation(n)] = np.arange(n) % parts
    made = 0
    while made < passes:
        made += 1
        label = np.unique(label, return_inverse=True)[1].astype(np.int64)
        n_groups = int(label.max()) + 1
        sizes = np.bincount(label)
        members = np.full((n_groups, 8 * k + int(sizes.max())), -1, np.int64)
        order = np.argsort(label, kind="stable")
        place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        members[label[order], place] = order
        moved = one_pass(codes, label, n_groups, members, sizes.astype(np.int64))
        for g in np.flatnonzero(np.bincount(label) > 1.5 * k):
            rows = rng.permutation(np.flatnonzero(label == g))
            label[rows[: len(rows) // 2]] = label.max() + 1
        if not moved:
            break
    return np.unique(label, return_inverse=True)[1].astype(np.int64), made


@njit
def nearest_of(closures, sizes, g, k):
    """The closest other small cluster and what the union costs more."""
    best, least = -1, 1 << 60
    for h in range(closures.shape[0]):
        if h == g or sizes[h] == 0 or sizes[h] >= k:
            continue
        both = (sizes[g] + sizes[h]) * lost_together(closures[g], closures[h])
        more = both - sizes[g] * lost_by(closures[g]) - sizes[h] * lost_by(closures[h])
        if more < least:
            best, least = h, more
    return best, least


@njit
def unify_small(closures, sizes, into, k):  # noqa: C901, PLR0912 - as published
    """Steps 11 to 14: always the two closest small clusters; each knows its nearest other one."""
    n = closures.shape[0]
    near = np.full(n, -1, np.int64)
    far = np.full(n, 1 << 60, np.int64)
    for g in range(n):
        if 0 < sizes[g] < k:
            near[g], far[g] = nearest_of(closures, sizes, g, k)
    while True:
        a = -1
        for g in range(n):
            if 0 < sizes[g] < k and near[g] >= 0 and (a < 0 or far[g] < far[a]):
                a = g
        if a < 0:
            break
        b = near[a]
        for j in range(closures.shape[1]):
            if closures[a, j] != closures[b, j]:
                closures[a, j] = ANY
        sizes[a] += sizes[b]
        sizes[b] = 0
        into[b] = a
        for g in range(n):
            if 0 < sizes[g] < k and (g == a or near[g] == a or near[g] == b):
                near[g], far[g] = nearest_of(closures, sizes, g, k)
            elif 0 < sizes[g] < k and sizes[a] < k:
                both = (sizes[g] + sizes[a]) * lost_together(closures[g], closures[a])
                more = both - sizes[g] * lost_by(closures[g]) - sizes[a] * lost_by(closures[a])
                if more < far[g]:
                    near[g], far[g] = a, more
    for g in range(n):
        if 0 < sizes[g] < k:
            best, least = -1, 1 << 60
            for h in range(n):
                if h != g and sizes[h] > 0:
                    both = (sizes[g] + sizes[h]) * lost_together(closures[g], closures[h])
                    more = both - sizes[h] * lost_by(closures[h])
                    if more < least:
                        best, least = h, more
            if best >= 0:
                into[g] = best
                sizes[best] += sizes[g]
                sizes[g] = 0


def unify(codes: Any, label: Any, k: int) -> Any:
    """Return the groups after small clusters were united."""
    n_groups = int(label.max()) + 1
    closures, sizes = close_all(codes, label, n_groups)
    into = np.arange(n_groups)
    unify_small(closures, sizes, into, k)
    while not np.array_equal(into, into[into]):
        into = into[into]
    return np.unique(into[label], return_inverse=True)[1]


def loss(codes: Any, label: Any) -> float:
    """Return the share of suppressed cells."""
    closures, sizes = close_all(codes, label.astype(np.int64), int(label.max()) + 1)
    return float((sizes * (closures == ANY).sum(axis=1)).sum() / codes.size)


def cluster(name: str, codes: Any, k: int, seed: int) -> Any:
    """Return the groups that an algorithm forms."""
    rng = np.random.default_rng(seed)
    if name == "sequential":
        return sequential(codes, k, rng)
    if name == "k-member":
        return k_member(codes, k, int(rng.integers(len(codes))))
    return unify(codes, np.arange(len(codes)), k)


def _codes(rows: int, columns: int) -> Any:
    """Return the first rows and public columns of the table as numbers."""
    frame = adult(quick=False).head(rows)
    table = encoded(frame, described(frame, "sequential", "salary", columns))
    return np.column_stack([a.codes.astype(np.int64) for a in table.attributes])


def passes_run(k: int, rows: int, columns: int, seed: int) -> dict[str, Any]:
    """Return the passes of sequential clustering and their CPU seconds, compiling left out."""
    codes = _codes(rows, columns)
    move_records(codes[:60], 5, np.random.default_rng(0))
    began = time.process_time()
    _, passes = move_records(codes, k, np.random.default_rng(seed))
    return {"seconds": time.process_time() - began, "passes": passes}


def run(name: str, k: int, rows: int) -> dict[str, Any]:
    """Return loss and CPU seconds of the clustering alone, compiling left out."""
    codes = _codes(rows, 14)
    cluster(name, codes[:60], 5, 0)
    began = time.process_time()
    label = cluster(name, codes, k, 0)
    seconds = time.process_time() - began
    sizes = np.bincount(label)
    return {"seconds": seconds, "lm": loss(codes, label), "smallest": int(sizes.min())}


def quick_run(name: str, k: int, rows: int) -> dict[str, Any]:
    """Return loss and CPU seconds of Mondrian or the curve, which skip nothing anyway."""
    from shoal.algorithm.base import create_algorithm

    algorithm, options = VARIANTS[name]
    found = plain_time(
        create_algorithm(algorithm, options).partition,
        adult(quick=False).head(rows),
        lambda some: described(some, algorithm, "salary", 14),
        "suppression",
        k,
    )
    return {"seconds": found["seconds"], "lm": found["suppression"]}
