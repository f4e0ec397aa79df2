"""Nested dicts and lists, as users write hierarchies in Python or TOML, as leaf-to-root paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shoal.errors import HierarchyError
from shoal.hierarchy.labels import canonical_label

__all__ = ["nested_paths"]


def nested_paths(obj: object, root: str = "*") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield ``(number, path)`` for every leaf; see `Taxonomy.from_nested` for the shapes.

    A key that holds ``None`` or an empty container is a leaf.
    """
    if not _is_container(obj):
        msg = (
            "A nested hierarchy is a dict or a list, for example "
            f'{{"Asia": ["India", "Iran"]}}, but a {type(obj).__name__} was given.'
        )
        raise HierarchyError(msg)
    if isinstance(obj, Mapping) and len(obj) == 1:
        ((key, below),) = obj.items()
        if _is_container(below) and below:
            obj, root = below, canonical_label(key)
    # An explicit stack: a deep hierarchy must not meet the recursion limit.
    stack: list[tuple[object, tuple[str, ...]]] = [(obj, (root,))]
    number = 0
    while stack:
        item, path = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(_below_keys(item, path))
        elif isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
            stack.extend(_below_list(item, path))
        else:
            number += 1
            yield number, (canonical_label(item), *path)


def _below_keys(
    item: Mapping[object, object], path: tuple[str, ...]
) -> Iterator[tuple[object, tuple[str, ...]]]:
    for key, below in reversed(list(item.items())):
        if below is None or (_is_container(below) and not below):
            yield key, path
        else:
            yield below, (canonical_label(key), *path)


def _below_list(
    item: Sequence[object], path: tuple[str, ...]
) -> Iterator[tuple[object, tuple[str, ...]]]:
    for member in reversed(item):
        if _is_container(member) and not isinstance(member, Mapping):
            msg = (
                f"A list inside a list below {path[0]!r} has no label: "
                "name it with a dict, as in {'label': [...]}."
            )
            raise HierarchyError(msg)
        yield member, path


def _is_container(obj: object) -> bool:
    return isinstance(obj, (Mapping, Sequence)) and not isinstance(obj, (str, bytes))
