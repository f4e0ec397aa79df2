"""The campaign's package lies at the top of the repository, beside `src`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
