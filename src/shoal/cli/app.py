"""The tree of commands. Nothing heavy is imported here: ``shoal --help`` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.anonymize import anonymize, apply, demo, refine
from shoal.cli.arguments import with_common_flags
from shoal.cli.drift import drift
from shoal.cli.explain import compare, explain
from shoal.cli.hierarchy import hierarchy
from shoal.cli.init import init
from shoal.cli.lists import algorithms, measures, privacy_models, register, schema, warm_up
from shoal.cli.mcp import serve_agents
from shoal.cli.original_and_release import audit, score, utility
from shoal.cli.serve_app import serve_app
from shoal.cli.sites import sites
from shoal.cli.tabulate import tabulate
from shoal.cli.verify import fingerprint, secret, sign, verify

app = typer.Typer(
    name="shoal",
    help="Release tables about people in which nobody stands out from fewer than k.",
    epilog="Exit status: 0 done, 1 the promise cannot be or was not met, 2 the input or the "
    "options are wrong, 70 a bug, 130 interrupted, 143 terminated.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"shoal {version('shoal-anonymity')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def shoal(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Release tables about people in which nobody stands out from fewer than k."""
    del version  # the callback has done it
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command()(with_common_flags(demo))
app.command()(with_common_flags(init))
app.command("app")(with_common_flags(serve_app))
app.command()(with_common_flags(anonymize))
app.command()(with_common_flags(refine))
app.command()(with_common_flags(apply))
app.command()(with_common_flags(drift))
app.command()(with_common_flags(register))
app.command()(with_common_flags(verify))
app.command()(with_common_flags(score))
app.command()(with_common_flags(audit))
app.command()(with_common_flags(utility))
app.command()(with_common_flags(tabulate))
app.command()(with_common_flags(secret))
app.command()(with_common_flags(fingerprint))
app.command()(with_common_flags(sign))
app.command()(with_common_flags(explain))
app.command()(with_common_flags(compare))
app.add_typer(hierarchy, name="hierarchy")
app.add_typer(sites, name="sites")
app.command()(with_common_flags(algorithms))
app.command()(with_common_flags(measures))
app.command("privacy-models")(with_common_flags(privacy_models))
app.command()(with_common_flags(schema))
app.command("mcp")(with_common_flags(serve_agents))
app.command("warm-up")(with_common_flags(warm_up))
