"""The documentation as a site: built by one command, read without a network, with its versions."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"


LOADED = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="([^"]+)"')


def build():
    subprocess.run([shutil.which("make"), "docs"], cwd=ROOT, check=True, timeout=900)


@pytest.mark.long
def test_the_site_is_built_by_one_command_and_needs_no_network():
    build()
    own = SITE / shoal.__version__
    alone = (SITE / "versions.js").read_text()
    other = SITE / "0.0.9"
    other.mkdir(exist_ok=True)
    (other / "objects.inv").touch()
    try:
        build()
        versions = (SITE / "versions.js").read_text()
    finally:
        (other / "objects.inv").unlink()
        other.rmdir()
        (SITE / "versions.js").write_text(alone)
    assert re.search(rf'\["{re.escape(shoal.__version__)}",.*"0.0.9"', versions)
    assert f"url={shoal.__version__}/index.html" in (SITE / "index.html").read_text()
    pages = {path.relative_to(own).as_posix(): path.read_text() for path in own.rglob("*.html")}
    assert {"index.html", "nightly.html", "results/scale.html"} <= set(pages)
    for name, page in pages.items():
        loaded = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="([^"]+)"', page
        )
        assert loaded, name
        assert [each for each in loaded if re.match(r"(?:https?:)?//", each)] == [], name
        assert 'id="versions"' in page, name
        (listed,) = [each for each in loaded if each.endswith("versions.js")]
        assert (own / name).parent.joinpath(listed).resolve() == (SITE / "versions.js").resolve()
    assert "<math" in pages["measures.html"]
    for book in ("officer", "engineer", "researcher"):
        (link,) = re.findall(rf'href="([^"]*{book}.ipynb)"', pages["notebooks.html"])
        assert (own / link).is_file()
