"""Programs that measure; each folder with a `__main__.py` is one: `make bench` lists them."""

from shoal.kernels.callers import trust

trust("benchmarks", "__main__")  # they measure single steps of a search
