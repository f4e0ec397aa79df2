"""Where pages say what is not done, they name the option that does it, if there is one."""

import re
from pathlib import Path

import pytest
import typer

from shoal.cli.app import app

ROOT = Path(__file__).parents[2]
DENIES = re.compile(
    r"\b(?:Shoal|It|We|we)\b (?:also )?"
    r"(?:does not|do not|cannot|can not|has no|have no|never|makes no|is not able)\b"
)
# For what these begin with there is no option; whoever makes one writes it there.
NO_OPTION = (
    "- It is not differential privacy",
    "- `release.groups` and the seed belong",
    "- Whether a release is lawful",
    "## The groups themselves",
    "## It is not differential privacy",
    "- What no k-anonymous release can give",
    "- The *type* of a column",
    "- How long a run took",
    "- `release.groups`, `release.scores`",
    "- An order of levels",
    "- Machines that others control",
    "It is not imported by `import typer`, and Shoal does not use it.",
)
# What an option does is never denied without its name, wherever that is.
DONE = {
    "--person": r"one row (?:per|for each) person is assumed|[Gg]roups count rows",
    "--previous": r"former releases|[Ii]t is a property of one release",
}


def options():
    """Return every option of every command."""
    commands = typer.main.get_command(app).commands.values()
    return {name for each in commands for option in each.params for name in option.opts}


def section(page, title):
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def items():
    """Return what the lists of what is not promised say, one by one."""
    for page, title in (
        ("README.md", "What it does not promise"),
        ("docs/security.md", "What is not promised"),
    ):
        yield from re.findall(r"^- .*$", section(page, title), re.MULTILINE)
    page = (ROOT / "docs/what-k-anonymity-does-not-do.md").read_text(encoding="utf-8")
    yield from (f"## {each}" for each in page.split("\n## ")[1:])


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def sentences(text):
    """Return the sentences outside of code blocks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [each.strip() for each in re.split(r"(?<=[.!?]) +|\n+", prose) if each.strip()]


def named(text):
    return set(re.findall(r"--[a-z][a-z-]+", text))


@pytest.mark.parametrize("item", list(items()), ids=lambda each: each[:40])
def test_what_is_not_promised_comes_with_its_option(item):
    if item.startswith(NO_OPTION):
        return
    assert named(item) & options(), "name the option, or say in NO_OPTION that there is none"
    assert named(item) - options() == set()


def test_what_is_denied_in_a_sentence_comes_with_its_option():
    denied = [
        sentence
        for page in pages()
        for sentence in sentences(page.read_text(encoding="utf-8"))
        if DENIES.search(sentence)
    ]
    assert denied
    assert [
        each for each in denied if not named(each) & options() and not each.startswith(NO_OPTION)
    ] == []


def test_what_an_option_does_is_denied_nowhere_without_it():
    for option, denial in DONE.items():
        assert option in options()
        for page in pages():
            for sentence in sentences(page.read_text(encoding="utf-8")):
                assert not re.search(denial, sentence) or option in sentence, (page.name, sentence)


def test_what_has_no_option_is_said_somewhere():
    texts = [*items(), *(s for p in pages() for s in sentences(p.read_text(encoding="utf-8")))]
    assert [each for each in NO_OPTION if not any(t.startswith(each) for t in texts)] == []


@pytest.mark.parametrize(
    ("sentence", "denies"),
    [
        ("Shoal does not track former releases.", True),
        ("It has no way to count people.", True),
        ("A group of five rows may be one patient.", False),
    ],
)
def test_a_denial_is_found(sentence, denies):
    assert bool(DENIES.search(sentence)) == denies
