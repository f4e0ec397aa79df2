"""For which systems and Pythons every package that Shoal needs comes as a wheel."""

import pytest
from tests.helpers.scripts import ROOT, load_script

pytestmark = pytest.mark.long  # the index is asked


@pytest.fixture
def wheels(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return load_script("tools/wheels.py")


def test_every_package_comes_as_a_wheel_for_the_systems_that_the_page_names(
    wheels, monkeypatch, capsys
):
    monkeypatch.setattr("sys.argv", ["wheels.py"])
    status = wheels.main()
    told = capsys.readouterr().out
    assert status == 0, told
    assert told.count("Linux, arm64: 3.11 yes, 3.12 yes, 3.13 yes, 3.14 yes") == 1


def test_a_wheel_that_is_missing_is_told(wheels, tmp_path, monkeypatch, capsys):
    lock = tmp_path / "old.txt"
    lock.write_text("numpy==1.20.0\n")  # it had wheels up to Python 3.9
    monkeypatch.setattr("sys.argv", ["wheels.py", str(lock)])
    assert wheels.main() == 1
    assert "3.13 no" in capsys.readouterr().out
