"""Lets ``python -m shoal`` do what ``shoal`` does."""

from __future__ import annotations

from shoal.cli import main

if __name__ == "__main__":
    main()
