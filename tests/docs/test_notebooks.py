"""The notebooks of the documentation run from top to bottom in a kernel, and need no network."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run(cells, folder):
    book = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(
        book, timeout=500, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return book


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results_without_a_network(path, tmp_path):
    book = run(nbformat.read(path, as_version=4).cells, tmp_path)
    outputs = [each for cell in book.cells for each in cell.get("outputs", ())]
    results = [each["data"] for each in outputs if each["output_type"] == "execute_result"]
    assert len(results) >= 4
    assert [each for each in results if "text/html" not in each] == []
    for page in (each["text/html"] for each in results):
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
