"""Numba kernels: flat functions over arrays, the only place with hot loops.

They import nothing of ours, allocate next to nothing (the caller does), run single-threaded and
release the GIL; parallelism is Python threads over blocks. Compiled code is cached on disk.
"""
