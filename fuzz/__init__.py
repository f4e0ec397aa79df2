"""The hunt for leaks, broken promises and crashes; `python -m fuzz --help` says how it is started.

Every input is made from a short text, its seed, and can be run again alone with ``--replay``.
"""
