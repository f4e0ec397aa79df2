"""Groups of flags: typer sees the single flags, the command receives the group."""

import typer
from typer.main import get_command
from typer.testing import CliRunner

from shoal.cli import arguments as opt
from shoal.cli.arguments import PROMISES, Asked, Promised, Reading, takes_flags
from shoal.settings.files import INPUT_OPTIONS
from shoal.settings.request import OPTIONS

received = {}


@takes_flags(seed="Of this command.")
def anonymize(
    source: str,
    *,
    quiet: opt.Quiet = False,
    asked: Asked,
    promises: Promised,
    reading: Reading,
):
    """Say something."""
    received.update(source=source, quiet=quiet, asked=asked, promises=promises, reading=reading)


app = typer.Typer()
app.command()(anonymize)


def call(*words):
    received.clear()
    done = CliRunner().invoke(app, ["a.csv", *words])
    assert done.exit_code == 0, done.output
    return received


def test_a_command_receives_its_flags_as_whole_groups():
    assert call("--qi", "age", "--qi", "zip", "--format", "csv", "--alpha", "0.5") == {
        "source": "a.csv",
        "quiet": False,
        "asked": {"quasi_identifiers": ["age", "zip"]},
        "promises": {"alpha": 0.5},
        "reading": {"format": "csv"},
    }


def test_what_is_not_said_is_not_in_the_group():
    got = call()
    assert (got["asked"], got["reading"]) == ({}, {})


def test_a_switch_says_the_opposite_of_the_default():
    got = call("--bound", "--no-shuffle", "--no-memory-check")
    assert got["asked"] == {"bound": True, "shuffle": False}
    assert got["reading"] == {"memory_check": False}


def test_numbers_come_as_numbers_and_parts_by_their_option():
    got = call("--k", "3", "--max-suppression", "0.1", "--effort", "best")["asked"]
    assert got == {"k": 3, "max_suppression": 0.1, ("algorithm_options", "effort"): "best"}


def test_typer_sees_every_flag_that_the_table_gives_to_the_command():
    command = get_command(app)
    shown = {name for each in command.params for name in each.opts if "completion" not in name}
    assert shown - {"source", "--quiet", "-q"} == {
        name
        for row in (*OPTIONS.values(), *PROMISES.values(), *INPUT_OPTIONS.values())
        for flag in (row.flag, *row.parts.values())
        if flag is not None and "anonymize" in flag.on
        for name in flag.names
    }
    assert command.help == "Say something."


def test_a_command_may_have_words_of_its_own_for_an_option():
    helps = {name: each.help for each in get_command(app).params for name in each.opts}
    assert helps["--seed"] == "Of this command."
    assert helps["--k"] == OPTIONS["k"].help
