"""Which fields of a scenario were read, so that a run can list what was written in vain."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from hetsim.scenario.tree import leaves, render

if TYPE_CHECKING:
    from hetsim.scenario.load import Scenario

_NEVER_READ = ("description", "compare", "measured")
"""For people, and for what makes points of the scenario: no run reads them."""

_seen: ContextVar[set[str] | None] = ContextVar("hetsim_scenario_reads", default=None)


@contextmanager
def reads() -> Iterator[set[str]]:
    """Record the dotted paths of the scenario fields that are read inside.

    Yields
    ------
    set of str
        Grows with each read.
    """
    seen: set[str] = set()
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Stop recording inside: checks look at everything."""
    token = _seen.set(None)
    try:
        yield
    finally:
        _seen.reset(token)


def record(path: str) -> None:
    """Note a read, where reads are recorded.

    Parameters
    ----------
    path : str
        Dotted path of the field.
    """
    seen = _seen.get()
    if seen is not None:
        seen.add(path)


def unread(scenario: "Scenario", seen: set[str]) -> list[str]:
    """Return the fields that the user wrote and that were never read.

    Parameters
    ----------
    scenario : Scenario
        What was written, overrides included.
    seen : set of str
        From `reads`.

    Returns
    -------
    list of str
        Dotted paths, in the order of the file.
    """
    written = (loc for loc in leaves(scenario.tree) if loc[0] not in _NEVER_READ)
    return [path for path in (render(scenario.tree, loc) for loc in written) if path not in seen]
