"""The reference pages name everything there is, and nothing that is not."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import shoal

DOCS = Path(__file__).parents[2] / "docs"


def _page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def _commands():
    from typer.main import get_command

    from shoal.cli.app import app

    stack = [("shoal", get_command(app))]
    while stack:
        name, command = stack.pop()
        yield name, command
        below = getattr(command, "commands", {})
        stack.extend((f"{name} {each}", inner) for each, inner in below.items())


def _options():
    for command, found in _commands():
        for parameter in found.params:
            if parameter.param_type_name == "option":
                yield from ((command, option) for option in parameter.opts)


def test_everything_that_the_python_page_describes_is_where_it_says():
    named = re.findall(r"auto\w+:: ([\w.]+)", _page("python-reference.md"))
    assert len(named) > 40
    missing = []
    for name in named:
        try:
            resolve_name(name)
        except (AttributeError, ImportError):
            missing.append(name)
    assert missing == []


def test_every_command_is_on_the_command_line_page():
    page = _page("command-line.md")
    assert [name for name, _ in _commands() if name not in page] == []


def test_every_option_is_on_the_command_line_page():
    named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", _page("command-line.md")))
    options = list(_options())
    assert len(options) > 80
    assert [each for each in options if each[1] not in named] == []


def test_every_option_that_the_pages_name_exists():
    known = {option for _, option in _options()} | {"--help", "-h"}
    named = {
        (page.name, option)
        for page in DOCS.glob("*.md")
        for line in page.read_text(encoding="utf-8").splitlines()
        if "shoal " in line and "pip install" not in line
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", line)
    }
    assert {each for each in named if each[1] not in known} == set()


def test_the_page_of_spark_names_every_option_that_is_refused_there():
    from shoal.engine.spark.session import DONE
    from shoal.run.spark import _ALWAYS, _READ_HERE, _WRITTEN_HERE
    from shoal.settings.files import INPUT_OPTIONS, OUTPUT_OPTIONS
    from shoal.settings.request import OPTIONS

    options = {
        name for name, row in OPTIONS.items() if row.flag is None or row.flag.on != ("refine",)
    }
    refused = (options | {*INPUT_OPTIONS, *OUTPUT_OPTIONS}) - {
        *(*DONE, *_READ_HERE, *_ALWAYS, *_WRITTEN_HERE)
    }
    section = _page("spark.md").split("## What is not done on Spark")[1].split("\n## ")[0]
    assert len(refused) > 10
    # an audit is refused by the method, too
    named = set(re.findall(r"`(\w+)", section)) | {"audit"}
    assert refused - named == set()


def test_every_public_name_is_in_the_python_reference():
    page = _page("python-reference.md")
    assert [name for name in shoal.__all__ if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("choosing-an-algorithm.md", shoal.algorithms()),
        ("measures.md", shoal.measures()),
    ],
)
def test_every_algorithm_and_measure_has_its_paragraph(page, names):
    described = set(re.findall(r"^\*\*`([^`]+)`\*\*", _page(page), re.MULTILINE))
    built_in = {name for name in names if not name.startswith("plugin")}
    assert described == built_in


def test_measures_are_listed_as_minimisable_exactly_if_they_are():
    from shoal.measure.base import CostMeasure
    from shoal.registry import load

    first, _, _ = _page("measures.md").partition("## Measures that only describe")
    listed = set(re.findall(r"^\*\*`([^`]+)`\*\*", first, re.MULTILINE))
    assert listed == {n for n in shoal.measures() if issubclass(load("measures", n), CostMeasure)}


def test_every_page_is_in_the_table_of_contents():
    listed = set(re.findall(r"^([a-z-]+)$", _page("index.md"), re.MULTILINE))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} == listed


def test_links_between_pages_lead_somewhere():
    broken = [
        (page.name, target)
        for page in DOCS.glob("*.md")
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (DOCS / target).exists()
    ]
    assert broken == []
