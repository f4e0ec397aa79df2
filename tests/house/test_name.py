"""The distribution is called shoal-anonymity: `shoal` on the public index is somebody else's."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHERE = ("src", "tests", "benchmarks", "docs", "fuzz", "tools", "requirements", ".github", ".ci")
SUFFIXES = {".md", ".py", ".toml", ".txt", ".sh", ".yml", ".html", ".po", ".js", ".cff", ""}
# what installs, then any options; or an extra; or a requirement of a package
STRANGER = re.compile(
    r"""(?:pip3?|pipx|uv|uvx|conda)\s+(?:\w+\s+)?(?:-[\w=-]+\s+)*['"]?shoal(?![\w.-])
    |(?<![\w/.-])shoal\[\w
    |(?:dependencies|requires)\s*=\s*\[[^]]*['"]shoal['"=<>~\[]
    |version\(['"]shoal['"]\)""",
    re.VERBOSE,
)


def places(text):
    """Return every place of a text that would install, or ask for, the other distribution."""
    return [found.group() for found in STRANGER.finditer(text)]


def test_no_page_message_or_recipe_names_the_distribution_of_somebody_else():
    folders = [ROOT / name for name in WHERE if (ROOT / name).exists()]
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in files
        if path.suffix in SUFFIXES and path != Path(__file__)
    }
    assert len(texts) > 500
    assert {name: found for name, text in texts.items() if (found := places(text))} == {}


def test_such_names_are_found():
    strange = (
        "pip install shoal",
        "RUN pip install --no-cache-dir shoal && shoal warm-up",
        "pip install 'shoal[app]'",
        "uvx shoal demo",
        'dependencies = ["polars", "shoal>=0.1"]',
        "version('shoal')",
    )
    assert [text for text in strange if not places(text)] == []
    ours = (
        "pip install 'shoal-anonymity[app]'",
        "pip install ./shoal",
        "shoal anonymize",
        "shoal.api",
    )
    assert [text for text in ours if places(text)] == []


def test_import_and_command_are_shoal_and_the_distribution_is_not():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "shoal-anonymity"
    assert project["scripts"] == {"shoal": "shoal.cli:main"}
