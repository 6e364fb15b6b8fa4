"""Find an aggregation policy by name; a function of somebody else is one as it is."""

import copy
from collections.abc import Mapping
from typing import Final, get_args

from hetsim.aggregation.table import POLICIES
from hetsim.contracts import Aggregator
from hetsim.errors import UnknownNameError, clipped
from hetsim.lookup import find_plugin, said, unknown
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


def has_servers(name: str, parameters: Mapping[str, object]) -> bool:
    """Return whether a policy needs parameter servers.

    Parameters
    ----------
    name : str
        As `find_aggregator` takes it.
    parameters : mapping
        Of the policy, all of them.

    Returns
    -------
    bool
        As its table entry says, or a function of the parameters there.

    Raises
    ------
    UnknownNameError
        If there is no such policy, or its function fails.

    Examples
    --------
    >>> has_servers("hierarchical", {"outer": "ring"}), has_servers("parameter-server", {})
    (False, True)
    """
    needs = find_aggregator(name).needs_servers
    if isinstance(needs, bool):
        return needs
    try:
        answer: object = needs(copy.deepcopy(dict(parameters)))
    except (Exception, SystemExit) as error:  # foreign code: whatever it does wrong is told, not passed on
        raise UnknownNameError(f"no {KIND} at {clipped(repr(name))}: its needs_servers raised {said(error)}") from error
    if not isinstance(answer, bool):
        what = f"its needs_servers returned {clipped(repr(answer))}, neither True nor False"
        raise UnknownNameError(f"no {KIND} at {clipped(repr(name))}: {what}")
    return answer


def _problem(found: Aggregator) -> str:
    if not callable(found.function):
        return f"its function is a {type(found.function).__name__}, which cannot be called"
    if not (isinstance(found.needs_servers, bool) or callable(found.needs_servers)):
        return f"its needs_servers is {clipped(repr(found.needs_servers))}, neither True nor False nor a function"
    if found.sharding not in get_args(Sharding):
        return unknown("sharding", str(found.sharding), get_args(Sharding))
    return ""
