"""Groups of flags: typer sees the single flags, the command receives the group."""

from dataclasses import fields

import typer
from typer.main import get_command
from typer.testing import CliRunner

from shoal.cli import options as opt
from shoal.cli.flags import ColumnFlags, InputFlags, takes_flags

received = {}


@takes_flags
def command(source: str, *, quiet: opt.Quiet = False, columns: ColumnFlags, reading: InputFlags):
    """Say something."""
    received.update(source=source, quiet=quiet, columns=columns, reading=reading)


app = typer.Typer()
app.command()(command)


def test_a_command_receives_its_flags_as_whole_groups():
    words = ["a.csv", "--qi", "age", "--qi", "zip", "--format", "csv"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert received == {
        "source": "a.csv",
        "quiet": False,
        "columns": ColumnFlags(qi=["age", "zip"]),
        "reading": InputFlags(file_format="csv"),
    }


def test_typer_sees_the_flags_of_a_group_in_the_place_of_the_group():
    names = [parameter.name for parameter in get_command(app).params]
    groups = [field.name for group in (ColumnFlags, InputFlags) for field in fields(group)]
    assert [name for name in names if "completion" not in name] == ["source", "quiet", *groups]
    assert get_command(app).help == "Say something."
