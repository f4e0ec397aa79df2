"""Programs that measure; each folder with a `__main__.py` is one: `make bench` lists them."""
