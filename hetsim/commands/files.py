"""Commands about scenario files: ``check``, ``list``, ``init`` and ``schema``."""

import math
from typing import Final

import click

from hetsim.commands.output import as_json_text, complain, count, say
from hetsim.errors import ScenarioError
from hetsim.lookup import find

MISUSED: Final = 2
"""Exit code of a mistake of the user."""


@click.command()
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
def check(scenarios: tuple[str, ...]) -> None:
    """Report every problem of scenario files."""
    from hetsim.scenario.build import build_cluster, build_jobs
    from hetsim.scenario.load import load

    is_sound = True
    for scenario in scenarios:
        try:
            loaded = load(scenario)
            cluster, jobs = build_cluster(loaded), build_jobs(loaded)
        except ScenarioError as error:
            is_sound = False
            complain(str(error))
        else:
            counts = ((cluster.hosts, "host"), (cluster.devices, "device"), (jobs, "job"))
            parts = [count(len(things), name) for things, name in counts]
            if loaded.measured is not None:
                parts.append(f"{count(len(loaded.measured.rows), 'measured value')}")
            if loaded.axes:
                parts.append(f"{count(math.prod(map(len, loaded.axes.values())), 'point')} to compare")
            say(f"{scenario}: ok, {', '.join(parts)}")
    if not is_sound:
        raise click.exceptions.Exit(MISUSED)


@click.command("list")
@click.argument("kind", required=False, metavar="[KIND]")
def list_command(kind: str | None) -> None:
    """List what a scenario can name.

    KIND is devices, links, meshes, transports, models, datasets, profiles, convergence, placements,
    aggregations, metrics, topologies or scenarios.
    """
    from hetsim.report.listing import listing

    tables = listing()
    kinds = tables if kind is None else {kind: find(tables, kind, "kind of thing to list")}
    for index, (name, table) in enumerate(kinds.items()):
        if kind is None:
            say(f"{'' if index == 0 else chr(10)}{name}")
        entries = table()
        width = max(map(len, entries), default=0)
        indent = "  " if kind is None else ""
        for entry, description in entries.items():
            say(f"{indent}{entry:<{width}}  {description}".rstrip())


@click.command()
@click.argument("file", default="scenario.yaml", type=click.Path(dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
def init(file: str, force: bool) -> None:
    """Write a commented scenario to start from."""
    from hetsim.scenario.starter import starter

    try:
        with open(file, "w" if force else "x", encoding="utf-8") as target:
            target.write(starter())
    except FileExistsError:
        raise click.UsageError(f"{file} is there already: choose another name, or overwrite it with --force") from None
    except OSError as error:
        error.filename = error.filename or file
        raise
    say(f"wrote {file}; now try: hetsim compare {file}")


@click.command()
def schema() -> None:
    """Print the JSON schema of scenario files."""
    from hetsim.scenario.jsonschema import schema as scenario_schema

    say(as_json_text(scenario_schema()))
