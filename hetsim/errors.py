"""The errors that hetsim raises; the command line alone turns them into exit codes.

HetsimError
    UnitError
    UnknownNameError
    ScenarioError(issues)
    CatalogError
    QdiscError(text, problems)
    TraceError(path, line, column)
    PolicyError(policy, job, rule)
        PlacementError
    SimulationError(now_s)
        DeadlockError
    WorkerError
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 60


def clipped(text: str, longest: int = _LONGEST) -> str:
    """Return what a message repeats of a text that somebody wrote.

    Parameters
    ----------
    text : str
        Of any length.
    longest : int
        More characters are cut.

    Returns
    -------
    str
        The text, or its beginning and an ellipsis.

    Examples
    --------
    >>> clipped("resnet50"), clipped("9" * 5000, 4)
    ('resnet50', '9999...')
    """
    return text if len(text) <= longest else f"{text[:longest]}..."


class HetsimError(Exception):
    """Base of every error that a user of hetsim can cause."""

    def __reduce__(self) -> tuple[object, ...]:
        # By default unpickling calls the constructor with the message alone; errors cross process boundaries whole.
        return _rebuild, (type(self), self.args), self.__dict__


class UnitError(HetsimError, ValueError):
    """A text is not a quantity of the dimension wanted."""


class UnknownNameError(HetsimError, KeyError):
    """No entry has that name; the message lists the names there are."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One problem of a scenario file.

    Parameters
    ----------
    path : str
        Dotted path of the field, such as ``jobs[train].batch``.
    message : str
        What is wrong, the valid choices and a did-you-mean where there are some.
    file : str
        Name of the file, or of the place the value came from (``--set``).
    line, column : int
        Where, counted from one; zero where there is no place.
    """

    path: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        field = f"{self.path}: " if self.path else ""
        return f"{place}{field}{self.message}"


class ScenarioError(HetsimError):
    """A scenario cannot be used; carries every problem found, in the order of the file."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__("\n".join(str(issue) for issue in self.issues))


class CatalogError(HetsimError):
    """A catalog file is malformed."""


class QdiscError(HetsimError):
    """The text of a `tc` command is not a qdisc; carries every problem found, in the order of the text.

    Parameters
    ----------
    text : str
        What was written.
    problems : sequence of (int, str)
        Column, counted from one, and what is wrong there; zero where there is no place.
    """

    def __init__(self, text: str, problems: Sequence[tuple[int, str]]) -> None:
        self.text, self.problems = text, tuple(problems)
        lines = [f"column {column}: {message}" if column else message for column, message in self.problems]
        super().__init__(f"{clipped(repr(text))}: {lines[0]}" if len(lines) == 1 else "\n".join([repr(text), *lines]))


class TraceError(HetsimError):
    """A file of measurements or traces is malformed.

    Parameters
    ----------
    path : str
        The file.
    line, column : int
        Where, counted from one; zero where there is no place.
    message : str
        What is wrong.
    """

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        self.path, self.line, self.column = path, line, column
        place = "".join(f":{number}" for number in (line, column) if number)
        super().__init__(f"{path}{place}: {message}")


class PolicyError(HetsimError):
    """A policy broke a rule of its contract, or cannot serve the job.

    Parameters
    ----------
    policy, job : str
        Names.
    rule : str
        What was broken, with the values.
    """

    def __init__(self, policy: str, job: str, rule: str) -> None:
        self.policy, self.job, self.rule = policy, job, rule
        super().__init__(f"policy {policy!r}, job {job!r}: {rule}")


class PlacementError(PolicyError):
    """A job cannot run where a placement policy put it."""


class SimulationError(HetsimError):
    """The simulation cannot go on.

    Parameters
    ----------
    message : str
        Why.
    now_s : float
        Simulated time, in seconds.
    """

    def __init__(self, message: str, now_s: float) -> None:
        self.now_s = now_s
        super().__init__(f"at {now_s:.9g} s: {message}")


class WorkerError(HetsimError):
    """A process of a pool ended before its work was done."""


class DeadlockError(SimulationError):
    """Nothing can happen any more, but some program has not ended; the message names who waits for whom."""


def _rebuild(kind: type[HetsimError], args: tuple[object, ...]) -> HetsimError:
    return kind.__new__(kind, *args)
