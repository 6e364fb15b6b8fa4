"""Policies that a scenario names: found, and their parameters checked against their signature."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, create_model

from hetsim.aggregation.table import POLICIES as AGGREGATIONS
from hetsim.contracts import Aggregator
from hetsim.errors import UnknownNameError
from hetsim.lookup import find_plugin
from hetsim.placement.table import POLICIES as PLACEMENTS
from hetsim.scenario.messages import problems_of
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Where the policies of a field come from.

    Parameters
    ----------
    kind : str
        For messages.
    group : str
        Entry point group.
    table : mapping
        The built-in ones.
    """

    kind: str
    group: str
    table: Mapping[str, Any]


FAMILIES: Final[Mapping[str, Family]] = {
    "placement": Family(kind="placement policy", group="hetsim.placement", table=PLACEMENTS),
    "aggregation": Family(kind="aggregation policy", group="hetsim.aggregation", table=AGGREGATIONS),
}
"""By the key that a job writes."""


class UnfitPolicyError(ValueError):
    """What was found by a policy's name is no policy."""


def needs_servers(name: str) -> bool:
    """Return whether an aggregation policy has parameter servers.

    Parameters
    ----------
    name : str
        The policy.

    Returns
    -------
    bool
        As its table entry says.
    """
    family = FAMILIES["aggregation"]
    return cast("Aggregator", find_plugin(family.table, name, family.kind, family.group)).needs_servers


def check(key: str, raw: Mapping[str, object], root: Node, at: Loc) -> tuple[dict[str, object], list[Problem]]:
    """Return the parameters of a policy with their defaults, and what is wrong with them.

    Parameters
    ----------
    key : str
        ``placement`` or ``aggregation``.
    raw : mapping
        The section as written; its ``policy`` is text.
    root : Node
        The whole tree.
    at : Loc
        Where the section is.

    Returns
    -------
    parameters : dict
        JSON-able; empty if there is a problem.
    problems : list of Problem
        Unknown policy, unknown parameters, wrong values.
    """
    name = str(raw["policy"])
    try:
        model = parameter_model(_function(FAMILIES[key], name))
    except (UnknownNameError, UnfitPolicyError) as error:
        return {}, [Problem((*at, "policy"), str(error))]
    written = {parameter: value for parameter, value in raw.items() if parameter != "policy"}
    if written and not model.model_fields:
        unwanted = [(*at, parameter) for parameter in written]
        message = f"{FAMILIES[key].kind} {name!r} has no parameters"
        return {}, [Problem(loc, message, place_of(root, loc, key=True)) for loc in unwanted]
    try:
        # As JSON, since strict mode then takes a list for any sequence.
        parameters = model.model_validate_json(json.dumps(written))
    except ValidationError as error:
        return {}, problems_of(error, root, model, at)
    return parameters.model_dump(mode="json"), []


def arguments(key: str, name: str, parameters: Mapping[str, object]) -> dict[str, object]:
    """Return the keyword arguments for a policy whose parameters were checked.

    Parameters
    ----------
    key : str
        ``placement`` or ``aggregation``.
    name : str
        The policy.
    parameters : mapping
        As written.

    Returns
    -------
    dict
        Values of the annotated types, defaults included.
    """
    model = parameter_model(_function(FAMILIES[key], name))
    checked = model.model_validate_json(json.dumps(parameters))
    return {field: getattr(checked, field) for field in model.model_fields}


def _function(family: Family, name: str) -> Callable[..., object]:
    found = find_plugin(family.table, name, family.kind, family.group)
    if family.group == "hetsim.aggregation":
        if not isinstance(found, Aggregator):
            raise UnfitPolicyError(f"{name!r} is a {type(found).__name__}, not a hetsim.contracts.Aggregator")
        found = found.function
    if not callable(found):
        raise UnfitPolicyError(f"{name!r} is a {type(found).__name__}, not a function")
    return cast("Callable[..., object]", found)


def parameter_model(function: Callable[..., object]) -> type[BaseModel]:
    """Return the schema of a policy's parameters: its keyword-only arguments.

    Parameters
    ----------
    function : callable
        The policy.

    Returns
    -------
    type of BaseModel
        Strict; unknown keys are refused.

    Raises
    ------
    UnfitPolicyError
        If the signature cannot be read or an annotation is no type.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
        wanted = [each for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
        fields: dict[str, Any] = {
            each.name: (hints.get(each.name, Any), ... if each.default is inspect.Parameter.empty else each.default)
            for each in wanted
        }
        config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())
        return create_model("Parameters", __config__=config, **fields)
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        raise UnfitPolicyError(f"the signature of {function!r} cannot be used: {error}") from error
