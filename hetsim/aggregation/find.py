"""Find an aggregation policy by name; a function of somebody else is one as it is."""

from typing import Final, get_args

from hetsim.aggregation.table import POLICIES
from hetsim.contracts import Aggregator
from hetsim.errors import UnknownNameError, clipped
from hetsim.lookup import find_plugin, unknown
from hetsim.model.aggregation import Sharding

KIND: Final = "aggregation policy"
GROUP: Final = "hetsim.aggregation"


def find_aggregator(name: str) -> Aggregator:
    """Return an aggregation policy.

    Parameters
    ----------
    name : str
        Of the table or of an entry point, or ``package.module:object``.

    Returns
    -------
    Aggregator
        A plain function may use parameter servers, so placement finds hosts for them.

    Raises
    ------
    UnknownNameError
        If there is none, or what is there is no policy.
    """
    found: object = find_plugin(POLICIES, name, KIND, GROUP)
    problem = ""
    if isinstance(found, Aggregator):
        problem = _problem(found)
    elif callable(found):
        found = Aggregator(function=found, needs_servers=True)
    if problem or not isinstance(found, Aggregator):
        problem = problem or f"a {type(found).__name__} is neither a function nor a hetsim.contracts.Aggregator"
        raise UnknownNameError(f"no {KIND} at {clipped(repr(name))}: {problem}")
    return found


def _problem(found: Aggregator) -> str:
    if not callable(found.function):
        return f"its function is a {type(found.function).__name__}, which cannot be called"
    if not isinstance(found.needs_servers, bool):
        return f"its needs_servers is {clipped(repr(found.needs_servers))}, neither True nor False"
    if found.sharding not in get_args(Sharding):
        return unknown("sharding", str(found.sharding), get_args(Sharding))
    return ""
