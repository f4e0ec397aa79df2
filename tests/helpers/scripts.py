"""Scripts of the repository that are no package, as modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_script(path):
    """Return a script, given by its path from the root, as a module."""
    spec = spec_from_file_location(f"script_{Path(path).stem}", ROOT / path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
