"""The command line: the only printer, and the only place where errors become exit codes."""

import errno
import io
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

import click

import hetsim
from hetsim.errors import HetsimError, ScenarioError, SimulationError, WorkerError
from hetsim.lookup import did_you_mean, find

if TYPE_CHECKING:
    from hetsim.experiment.execute import Progress
    from hetsim.scenario.load import Scenario

FAILED: Final = 1
MISUSED: Final = 2
INTERRUPTED: Final = 128 + signal.SIGINT
TERMINATED: Final = 128 + signal.SIGTERM

_MISTAKEN_PATHS: Final = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_MISTAKES: Final = (errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.EROFS)
"""Errors of a path that was written wrong; all others, such as a full disk, are no mistake in the command."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Terminated(BaseException):
    """Another process asked this one to end."""


class _Group(click.Group):
    """Commands with a did-you-mean."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            names = self.list_commands(ctx)
            hint = did_you_mean(args[0], names) or "."
            raise click.UsageError(f"no command {args[0]!r}{hint} Known: {', '.join(names)}", ctx) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(hetsim.__version__, prog_name="hetsim")
def cli() -> None:
    """Simulate distributed deep-learning training in a datacenter of unequal, partly busy machines.

    SCENARIO is a YAML file or the name of a shipped scenario: see 'hetsim list scenarios'.

    Exit codes: 0 done; 1 the simulation failed, or a result could not be written; 2 a mistake in the command, the
    scenario or a placement; 130 interrupted; 143 terminated.
    """


_ENGINES = ("simpy", "kernel", "auto")


def _running_options(command: _Command) -> _Command:
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


@cli.command("run")
@_running_options
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

    loaded = _load(scenario, overrides, replications, engine, points=False)
    if not no_save:
        _check_writable(out)
    with _progress(quiet=quiet) as on_progress:
        result = run(loaded, seed=seed, processes=processes, on_progress=on_progress)
    folder = None if no_save else result.save(out)
    if as_json:
        _say(_as_json(result.to_dict()))
    elif not quiet:
        from hetsim.report.tables import run_table

        _say(run_table(result))
    _say_saved(folder, as_json=as_json, quiet=quiet)


@cli.command("compare")
@_running_options
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
    loaded = _load(scenario, overrides, replications, engine)
    if not no_save:
        _check_writable(out)
    with _progress(quiet=quiet) as on_progress:
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
        _say(_as_json(comparison.to_dict()))
    elif not quiet:
        from hetsim.report.measured import measured_table
        from hetsim.report.tables import comparison_table

        _say(measured_table(comparison) if comparison.measured else comparison_table(comparison))
    _say_saved(folder, as_json=as_json, quiet=quiet)


@cli.command()
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
            _complain(str(error))
        else:
            counts = ((cluster.hosts, "host"), (cluster.devices, "device"), (jobs, "job"))
            parts = [_count(len(things), name) for things, name in counts]
            if loaded.measured is not None:
                parts.append(f"{_count(len(loaded.measured.rows), 'measured value')}")
            if loaded.axes:
                parts.append(f"{_count(math.prod(map(len, loaded.axes.values())), 'point')} to compare")
            _say(f"{scenario}: ok, {', '.join(parts)}")
    if not is_sound:
        raise click.exceptions.Exit(MISUSED)


@cli.command("list")
@click.argument("kind", required=False, metavar="[KIND]")
def list_command(kind: str | None) -> None:
    """List what a scenario can name.

    KIND is devices, links, models, datasets, profiles, placements, aggregations, metrics, topologies or scenarios.
    """
    from hetsim.report.listing import listing

    tables = listing()
    kinds = tables if kind is None else {kind: find(tables, kind, "kind of thing to list")}
    for index, (name, table) in enumerate(kinds.items()):
        if kind is None:
            _say(f"{'' if index == 0 else chr(10)}{name}")
        entries = table()
        width = max(map(len, entries), default=0)
        indent = "  " if kind is None else ""
        for entry, description in entries.items():
            _say(f"{indent}{entry:<{width}}  {description}".rstrip())


@cli.command()
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
    _say(f"wrote {file}; now try: hetsim compare {file}")


@cli.command()
def schema() -> None:
    """Print the JSON schema of scenario files."""
    from hetsim.scenario.jsonschema import schema as scenario_schema

    _say(_as_json(scenario_schema()))


def _load(
    scenario: str, overrides: Sequence[str], replications: int | None, engine: str | None, *, points: bool = True
) -> "Scenario":
    from hetsim.scenario.load import load

    for text in overrides:
        _check_text("--set", text)
    given = {"replications": replications, "engine": engine}
    more = [f"{field}={value}" for field, value in given.items() if value is not None]
    return load(scenario, [*overrides, *more], points=points)


def _check_text(option: str, text: str) -> None:
    """Refuse bytes of the command line that are no text."""
    if any("\udc80" <= letter <= "\udcff" for letter in text):
        raise click.UsageError(f"{option} {text!r} is not UTF-8")


def _axes(texts: Sequence[str]) -> list[tuple[str, list[object]]]:
    from hetsim.scenario.paths import value_of

    axes: list[tuple[str, list[object]]] = []
    for text in texts:
        _check_text("--axis", text)
        path, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise click.UsageError(f"--axis {text!r} is not of the form PATH=V1,V2")
        parsed = value_of(f"[{values}]")
        axes.append((path.strip(), parsed if isinstance(parsed, list) else [parsed]))
    return axes


def _check_writable(out: str) -> None:
    """Fail before the work is done, not after it; make nothing yet."""
    folder = Path(out).absolute()
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, "this link leads to nothing", str(folder))
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


@contextmanager
def _progress(*, quiet: bool) -> "Iterator[Progress | None]":
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from hetsim.kernels.jit import is_cached

    if not is_cached():
        _complain("The first larger run on this machine compiles kernels, once, which takes up to a minute.")
    with click.progressbar(length=1, label="replications", file=sys.stderr) as bar:

        def advance(n_done: int, n_total: int) -> None:
            bar.length = n_total
            bar.update(n_done - bar.pos)

        yield advance


def _count(n: int, name: str) -> str:
    return f"{n} {name}{'' if n == 1 else 's'}"


def _as_json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _say_saved(folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    if folder is not None and not quiet:
        text = f"results in {folder}"
        _complain(text) if as_json else _say(f"\n{text}")


def _say(text: str) -> None:
    _write(text, sys.stdout)


def _complain(text: str) -> None:
    _write(text, sys.stderr)


def _write(text: str, stream: TextIO | None) -> None:
    """Write to a stream that may be closed, that nobody may read any more, and whose disk may be full."""
    if stream is None:
        return
    try:
        click.echo(text, file=stream)
        stream.flush()
    except OSError as error:
        # Python flushes once more at its end, which must find an open file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        # A reader that has seen enough changes nothing about what the command did; an error about errors has no reader.
        if stream is sys.stderr or isinstance(error, BrokenPipeError):
            return
        error.filename = error.filename or "standard output"
        raise


def exit_code(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process if left out.

    Returns
    -------
    int
        0 done; 1 the simulation failed; 2 a mistake of the user; 130 interrupted; 143 terminated.
    """
    words = None if arguments is None else list(arguments)
    try:
        code = cli.main(words, prog_name="hetsim", standalone_mode=False)
    except (click.Abort, click.ClickException, HetsimError, MemoryError, OSError, _Terminated) as error:
        return _report(error)
    return code if isinstance(code, int) else 0


def _report(error: BaseException) -> int:
    """Say what went wrong, without a traceback, and return the exit code."""
    if isinstance(error, click.Abort):
        _complain("interrupted")
        return INTERRUPTED
    if isinstance(error, _Terminated):
        _complain("terminated")
        return TERMINATED
    _complain(_message(error))
    is_mistake = not isinstance(error, SimulationError | WorkerError | MemoryError)
    if isinstance(error, OSError):
        is_mistake = isinstance(error, _MISTAKEN_PATHS) or error.errno in _MISTAKES
    return MISUSED if is_mistake else FAILED


def _message(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        text = io.StringIO()
        error.show(file=text)
        return text.getvalue().rstrip("\n")
    if isinstance(error, ScenarioError):
        return str(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"Error: {name}{error.strerror or error}"
    return "Error: out of memory" if isinstance(error, MemoryError) else f"Error: {error}"


def main() -> None:
    """Run the command line of this process."""
    # A policy `module:function` may lie beside the scenario, as for ``python -m hetsim``.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a letter must not end a run.
            stream.reconfigure(errors="backslashreplace")
    _fill_standard_streams()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = exit_code()
    except KeyboardInterrupt:
        code = INTERRUPTED
    # All is said and done: what comes now must not interrupt the end of the process with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _terminate(_signal: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def _fill_standard_streams() -> None:
    """Open what the parent closed, so that no file of ours becomes the standard output of something else."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


if __name__ == "__main__":
    main()
