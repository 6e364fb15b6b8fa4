"""What commands that run a scenario share: options, loading, progress."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hetsim.commands.output import complain

if TYPE_CHECKING:
    from hetsim.experiment.execute import Progress
    from hetsim.scenario.load import Scenario

_Command = TypeVar("_Command", bound=Callable[..., Any])


def running_options(command: _Command) -> _Command:
    """Give a command the options of all that run a scenario.

    Parameters
    ----------
    command : callable
        To be decorated.

    Returns
    -------
    callable
        The same.
    """
    options = (
        click.argument("scenario"),
        click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Set a field of the scenario."),
        click.option("--seed", type=click.IntRange(min=0), help="Key of all random draws, instead of the scenario's."),
        click.option("--replications", type=click.IntRange(min=1), help="How often, instead of the scenario's number."),
        click.option(
            "--engine", type=click.Choice(["simpy", "kernel", "auto"]), help="Executor, instead of the scenario's."
        ),
        click.option("--processes", type=click.IntRange(min=1), default=1, show_default=True, help="Share the work."),
        click.option("--out", default="results", show_default=True, metavar="DIR", help="Where results folders go."),
        click.option("--no-save", is_flag=True, help="Write no results folder."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to standard output."),
        click.option("--quiet", is_flag=True, help="Print no table, no progress and no notes."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def load_scenario(
    scenario: str, overrides: Sequence[str], replications: int | None, engine: str | None, *, points: bool = True
) -> "Scenario":
    """Load a scenario as the command line asks.

    Parameters
    ----------
    scenario : str
        Name or path.
    overrides : sequence of str
        ``PATH=VALUE``.
    replications, engine : optional
        Set these fields too.
    points : bool
        Whether its points must be sound.

    Returns
    -------
    Scenario
        Loaded.
    """
    from hetsim.scenario.load import load

    for text in overrides:
        check_text("--set", text)
    given = {"replications": replications, "engine": engine}
    more = [f"{field}={value}" for field, value in given.items() if value is not None]
    return load(scenario, [*overrides, *more], points=points)


def check_text(option: str, text: str) -> None:
    """Refuse bytes of the command line that are no text.

    Parameters
    ----------
    option : str
        Its name.
    text : str
        Its value.

    Raises
    ------
    click.UsageError
        If they are none.
    """
    if any("\udc80" <= letter <= "\udcff" for letter in text):
        raise click.UsageError(f"{option} {text!r} is not UTF-8")


@contextmanager
def progress(*, quiet: bool) -> "Iterator[Progress | None]":
    """Show a progress bar on a terminal.

    Parameters
    ----------
    quiet : bool
        Show none.

    Yields
    ------
    callable or None
        To be told how far the work is.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from hetsim.kernels.jit import is_cached

    if not is_cached():
        complain("The first larger run on this machine compiles kernels, once, which takes up to a minute.")
    with click.progressbar(length=1, label="replications", file=sys.stderr) as bar:

        def advance(n_done: int, n_total: int) -> None:
            bar.length = n_total
            bar.update(n_done - bar.pos)

        yield advance
