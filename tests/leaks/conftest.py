"""Bytes are read with the tools of the campaign, which lies at the top of the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
