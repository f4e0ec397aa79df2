"""What the README shows is what happens."""

import doctest
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_examples_of_the_readme_run_as_printed():
    found = doctest.testfile(str(README), module_relative=False, verbose=False)
    assert found.attempted > 0
    assert found.failed == 0
