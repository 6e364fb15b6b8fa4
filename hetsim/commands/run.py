"""``hetsim run`` and ``hetsim compare``."""

from collections.abc import Sequence

import click

from hetsim.commands.output import as_json_text, check_writable, say, say_saved
from hetsim.commands.running import check_text, load_scenario, progress, running_options


@click.command("run")
@running_options
def run_command(
    *,
    scenario: str,
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    engine: str | None,
    processes: int,
    out: str,
    no_save: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a scenario and show where the time goes."""
    from hetsim.experiment.api import run

    loaded = load_scenario(scenario, overrides, replications, engine, points=False)
    if not no_save:
        check_writable(out)
    with progress(quiet=quiet) as on_progress:
        result = run(loaded, seed=seed, processes=processes, on_progress=on_progress)
    folder = None if no_save else result.save(out)
    if as_json:
        say(as_json_text(result.to_dict()))
    elif not quiet:
        from hetsim.report.tables import run_table

        say(run_table(result))
    say_saved(folder, as_json=as_json, quiet=quiet)


@click.command("compare")
@running_options
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="PATH=V1,V2",
    help="Values to try for a field: replaces the same field of the scenario's compare section, or is crossed with it.",
)
@click.option(
    "--metric", help="What to compare: see 'hetsim list metrics'; the training time, or what was measured, if left out."
)
def compare_command(
    *,
    scenario: str,
    overrides: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    engine: str | None,
    processes: int,
    out: str,
    no_save: bool,
    as_json: bool,
    quiet: bool,
    axes: tuple[str, ...],
    metric: str | None,
) -> None:
    """Compare policies, or any other values.

    All points meet the same random draws. The values come from the scenario's compare section and from --axis; a
    scenario with measured values and neither of these is held against its measurements.
    """
    from hetsim.experiment.api import compare
    from hetsim.experiment.axes import crossed

    chosen = _axes(axes)
    loaded = load_scenario(scenario, overrides, replications, engine)
    if not no_save:
        check_writable(out)
    with progress(quiet=quiet) as on_progress:
        comparison = compare(
            loaded,
            crossed(loaded, chosen),
            metric=metric,
            seed=seed,
            processes=processes,
            on_progress=on_progress,
        )
    folder = None
    if not no_save:
        from hetsim.report.figure import to_png
        from hetsim.report.measured import measured_figure
        from hetsim.report.plot import comparison_figure

        figure = measured_figure(comparison) if comparison.measured else comparison_figure(comparison)
        folder = comparison.save(out, extra={"comparison.png": to_png(figure)})
    if as_json:
        say(as_json_text(comparison.to_dict()))
    elif not quiet:
        from hetsim.report.measured import measured_table
        from hetsim.report.tables import comparison_table

        say(measured_table(comparison) if comparison.measured else comparison_table(comparison))
    say_saved(folder, as_json=as_json, quiet=quiet)


def _axes(texts: Sequence[str]) -> list[tuple[str, list[object]]]:
    from hetsim.scenario.paths import value_of

    axes: list[tuple[str, list[object]]] = []
    for text in texts:
        check_text("--axis", text)
        path, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise click.UsageError(f"--axis {text!r} is not of the form PATH=V1,V2")
        parsed = value_of(f"[{values}]")
        axes.append((path.strip(), parsed if isinstance(parsed, list) else [parsed]))
    return axes
