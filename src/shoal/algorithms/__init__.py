"""Algorithms, one paper, one file, the paper's step names as function names."""

from shoal.callable_module import make_callable

make_callable(__name__, "shoal.registry", "algorithms")
