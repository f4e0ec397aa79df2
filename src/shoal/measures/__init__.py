"""Measures, one small file each: formula, citation, bounds, per-column breakdown."""

from shoal.callable_module import make_callable

make_callable(__name__, "shoal.registry", "measures")
