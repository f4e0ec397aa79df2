"""The notebooks of the documentation run from top to bottom in a kernel, and need no network."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LAST = re.compile(r"^[\w.]+(\(.*\))?$|^\)$", re.DOTALL)
"""What shows a result: a name or a call in the last line of a cell."""


def run(cells, folder):
    book = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(
        book, timeout=500, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return book


def html_of(cell):
    return [
        each["data"]["text/html"]
        for each in cell.get("outputs", ())
        if "text/html" in each.get("data", {})
    ]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results_without_a_network(path, tmp_path):
    book = run(nbformat.read(path, as_version=4).cells, tmp_path)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    showing = [cell for cell in code if LAST.match(cell.source.splitlines()[-1])]
    assert len(showing) >= 4
    for cell in showing:
        assert any(html_of(cell)), cell.source
    for page in (page for cell in code for page in html_of(cell)):
        assert "<script" not in page
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)


def test_notebooks_are_kept_without_what_they_printed():
    assert {path.stem for path in BOOKS} == {"officer", "engineer", "researcher"}
    for path in BOOKS:
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book)
        assert [cell for cell in book.cells if cell.get("outputs")] == []


def test_progress_is_drawn_in_the_cell_and_goes_with_the_work(tmp_path):
    source = """
from shoal.runtime import progress
progress._REDRAW = 0.0
drawn = []
from IPython.display import DisplayHandle
update = DisplayHandle.update
DisplayHandle.update = lambda self, shown, **more: (drawn.append(shown.data), update(self, shown))
with progress.watching(True) as report:
    report(0, 0, "reading")
    report(5, 10, "<cluster>")
drawn
"""
    book = run([nbformat.v4.new_code_cell(source)], tmp_path)
    (bar, result) = book.cells[0].outputs
    assert bar["data"]["text/html"] == ""  # what stays when the work has ended
    drawn = result["data"]["text/plain"]
    assert "reading <progress></progress>" in drawn
    assert '&lt;cluster&gt; <progress value="0.500"></progress>' in drawn
