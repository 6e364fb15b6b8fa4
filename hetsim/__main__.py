"""The command line: the commands put together, and the only place where errors become exit codes."""

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

import hetsim
from hetsim.commands.files import MISUSED, check, init, list_command, schema
from hetsim.commands.netem import netem_command
from hetsim.commands.network import network_command
from hetsim.commands.output import complain
from hetsim.commands.run import compare_command, run_command
from hetsim.errors import HetsimError, ScenarioError, SimulationError, WorkerError
from hetsim.lookup import did_you_mean

FAILED: Final = 1
INTERRUPTED: Final = 128 + signal.SIGINT
TERMINATED: Final = 128 + signal.SIGTERM

_MISTAKEN_PATHS: Final = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_MISTAKES: Final = (errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.EROFS)
"""Errors of a path that was written wrong; all others, such as a full disk, are no mistake in the command."""


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


for _command in (run_command, compare_command, network_command, check, list_command, init, schema, netem_command):
    cli.add_command(_command)


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
        complain("interrupted")
        return INTERRUPTED
    if isinstance(error, _Terminated):
        complain("terminated")
        return TERMINATED
    complain(_message(error))
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
