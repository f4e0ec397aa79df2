"""The algebra: what a group of values generalises to, for each kind of attribute.

`close(attribute, partition)` gives the closures of all groups of a partition at once. The last
closure of the result is always "everything": label −1 (a suppressed row) therefore finds its own
closure by plain indexing, and a suppressed row counts as fully generalised in every measure.
"""

from shoal.table.closure.groups import (
    Closures,
    IntervalClosures,
    SetClosures,
    TreeClosures,
    close,
    domain_size,
    some_of,
    union_sets,
    wide_cells,
)

__all__ = [
    "Closures",
    "IntervalClosures",
    "SetClosures",
    "TreeClosures",
    "close",
    "domain_size",
    "some_of",
    "union_sets",
    "wide_cells",
]
