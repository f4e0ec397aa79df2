"""Agglomerative clustering of small groups: always unify the two closest.

Every group remembers its nearest partner. After a merger all groups are compared with the new one
in a single scan; a group whose partner is gone keeps its old distance as a lower bound and looks
anew only when it comes up. So a merger costs a few scans, not a quadratic search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import kernel, scan_helper
from shoal.kernels.merge import group_cost, union_costs
from shoal.kernels.scan import absorb, load_query, store_query

__all__ = ["nearest_partners", "unify_closest"]

FAR = np.int64(1) << 62


@scan_helper
def _look(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    small: Any,
    g: int,
    n_groups: int,
    query: Any,
    spare: Any,
    out: Any,
    partner: Any,
    distance: Any,
) -> None:
    """Find the nearest other small group of g; ties go to the lowest number."""
    load_query(space, groups, g, query)
    union_costs(space, groups, hists, costs, g, n_groups, query, spare, out)
    out[g] = FAR
    best = np.int64(-1)
    least = FAR
    for h in range(n_groups):
        if out[h] < least and small[h]:
            least = out[h]
            best = h
    partner[g] = best
    distance[g] = least


@kernel
def nearest_partners(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    small: Any,
    todo: Any,
    start: int,
    stop: int,
    n_groups: int,
    query: Any,
    spare: Any,
    out: Any,
    partner: Any,
    distance: Any,
) -> None:
    """Find the nearest partner of groups todo[start:stop]."""
    for t in range(start, stop):
        _look(
            space,
            groups,
            hists,
            costs,
            small,
            todo[t],
            n_groups,
            query,
            spare,
            out,
            partner,
            distance,
        )


@kernel
def unify_closest(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    size: Any,
    small: Any,
    k: int,
    n_groups: int,
    query: Any,
    spare: Any,
    out: Any,
    partner: Any,
    distance: Any,
    into: Any,
    n_small: int,
    budget: int,
) -> int:
    """Unify the two closest small groups again and again, at most ``budget`` scans.

    The union keeps the lower number; ``into`` of the other says so. A union of at least k rows is
    not small any more. Stops when fewer than two small groups are left; returns how many are.
    Ties: the lowest number whose distance is least, with its lowest partner.
    """
    while n_small > 1 and budget > 0:
        a = np.int64(-1)
        least = FAR
        for g in range(n_groups):
            if distance[g] < least and small[g]:
                least = distance[g]
                a = g
        b = partner[a]
        if not small[b]:
            _look(
                space,
                groups,
                hists,
                costs,
                small,
                a,
                n_groups,
                query,
                spare,
                out,
                partner,
                distance,
            )
            budget -= 1
            continue
        if b < a:
            a, b = b, a
        load_query(space, groups, a, query)
        absorb(space, groups, query, b)
        store_query(groups, a, query)
        for y in range(hists.shape[0]):
            hists[y, a] += hists[y, b]
        costs[a] = group_cost(space, query, hists, a)
        size[a] += size[b]
        small[b] = False
        into[b] = a
        n_small -= 1
        if size[a] >= k:
            small[a] = False
            n_small -= 1
            continue
        union_costs(space, groups, hists, costs, a, n_groups, query, spare, out)
        out[a] = FAR
        best = np.int64(-1)
        least = FAR
        for h in range(n_groups):
            if small[h]:
                if out[h] < least:
                    least = out[h]
                    best = h
                if out[h] < distance[h] or (out[h] == distance[h] and a <= partner[h]):
                    distance[h] = out[h]
                    partner[h] = a
                elif partner[h] == a:
                    # the old a is gone: the stored distance is a lower bound from here on, and
                    # pointing at b, which is not small, makes h look anew when it comes up
                    partner[h] = b
        partner[a] = best
        distance[a] = least
        budget -= 1
    return n_small
