"""Algorithms, one paper, one file, the paper's step names as function names."""
