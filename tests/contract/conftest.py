"""Installs the plug-in of `plugin/` for this folder's tests, as pip would: files and metadata."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from shoal import registry

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(scope="session")
def site_packages(tmp_path_factory):
    """A folder with the plug-in's module and its ``.dist-info``, made from its pyproject."""
    folder = tmp_path_factory.mktemp("site-packages")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    for module in PLUGIN.glob("*.py"):
        shutil.copy(module, folder)
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(autouse=True, scope="module")
def installed_plugin(site_packages):
    """Puts the plug-in on the path, and makes sure that other tests do not see it."""
    sys.path.insert(0, str(site_packages))
    registry._table.cache_clear()
    yield
    sys.path.remove(str(site_packages))
    for module in PLUGIN.glob("*.py"):
        sys.modules.pop(module.stem, None)
    registry._table.cache_clear()
