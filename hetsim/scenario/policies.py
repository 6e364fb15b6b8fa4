"""Policies that a scenario names: found, and their parameters checked against their signature."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, create_model
from pydantic.fields import FieldInfo

from hetsim.aggregation import find
from hetsim.aggregation.table import POLICIES as AGGREGATIONS
from hetsim.errors import UnknownNameError, clipped
from hetsim.lookup import find_plugin, said
from hetsim.placement.table import POLICIES as PLACEMENTS
from hetsim.scenario.fields import not_finite, shown
from hetsim.scenario.groups import GroupSection, list_tag
from hetsim.scenario.groups import has_servers as tree_has_servers
from hetsim.scenario.messages import problems_of
from hetsim.scenario.problems import Problem
from hetsim.scenario.schema import PolicySection
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
    "aggregation": Family(kind=find.KIND, group=find.GROUP, table=AGGREGATIONS),
}
"""By the key that a job writes."""


class UnfitPolicyError(ValueError):
    """What was found by a policy's name is no policy."""


def has_servers(section: PolicySection | GroupSection) -> bool:
    """Return whether an aggregation has parameter servers.

    Parameters
    ----------
    section : PolicySection or GroupSection
        A policy, or a tree.

    Returns
    -------
    bool
        As the policy's table entry says of these parameters, or the architectures of the tree.

    Raises
    ------
    UnknownNameError
        If there is no such policy, or it fails.
    ValidationError
        If its parameters are wrong.
    """
    if isinstance(section, GroupSection):
        return tree_has_servers(section)
    needs = find.find_aggregator(section.policy).needs_servers
    if isinstance(needs, bool):
        return needs
    return find.has_servers(section.policy, arguments("aggregation", section.policy, section.parameters))


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
        model = parameter_model(_function(key, name))
    except (UnknownNameError, UnfitPolicyError) as error:
        return {}, [Problem((*at, "policy"), str(error))]
    given = {parameter: value for parameter, value in raw.items() if parameter != "policy"}
    if given and not model.model_fields:
        unwanted = [(*at, parameter) for parameter in given]
        message = f"{FAMILIES[key].kind} {clipped(repr(name))} has no parameters"
        return {}, [Problem(loc, message, place_of(root, loc, key=True)) for loc in unwanted]
    problems = [
        Problem((*at, parameter), f"must be finite, not {shown(number)}")
        for parameter, value in given.items()
        if (number := not_finite(value)) is not None
    ]
    try:
        parameters = _checked(model, given).model_dump(mode="json", by_alias=True, warnings=False)
    except ValidationError as error:
        return {}, [*problems, *problems_of(error, root, model, at)]
    except (Exception, SystemExit) as error:  # types of foreign code check values by code of their own
        return {}, [*problems, Problem(at, f"{FAMILIES[key].kind} {clipped(repr(name))} raised {said(error)}")]
    if not problems and FAMILIES[key].group == find.GROUP:
        try:
            find.has_servers(name, arguments(key, name, given))
        except UnknownNameError as error:
            return {}, [Problem((*at, "policy"), str(error))]
    return ({}, problems) if problems else (parameters, [])


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
    model = parameter_model(_function(key, name))
    checked = _checked(model, parameters)
    return {str(field.alias): getattr(checked, attribute) for attribute, field in model.model_fields.items()}


def _checked(model: type[BaseModel], given: Mapping[str, object]) -> BaseModel:
    # As JSON, since strict mode then takes a list for any sequence.
    return model.model_validate_json(json.dumps(given))


def _function(key: str, name: str) -> Callable[..., object]:
    family = FAMILIES[key]
    if family.group == find.GROUP:
        return find.find_aggregator(name).function
    found: object = find_plugin(family.table, name, family.kind, family.group)
    if not callable(found):
        raise UnfitPolicyError(f"{clipped(repr(name))} is a {type(found).__name__}, not a function")
    return found


def parameter_model(function: Callable[..., object]) -> type[BaseModel]:
    """Return the schema of a policy's parameters: its keyword-only arguments.

    Parameters
    ----------
    function : callable
        The policy.

    Returns
    -------
    type of BaseModel
        Strict; unknown keys are refused. Its aliases are the parameters.

    Raises
    ------
    UnfitPolicyError
        If the signature cannot be read or takes no view, an annotation is no type, a parameter cannot be written in a
        scenario, or its default not in a manifest.
    """
    try:
        wanted = _parameters(function)
        # Names of our own, since a parameter may be called like a method of pydantic's models.
        fields: dict[str, Any] = {
            f"parameter_{index}": (
                Any if each.annotation is each.empty else _decided(each.annotation),
                Field(... if each.default is each.empty else each.default, alias=each.name),
            )
            for index, each in enumerate(wanted)
        }
        config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, protected_namespaces=())
        model: type[BaseModel] = create_model("Parameters", __config__=config, **fields)
        for attribute, field in model.model_fields.items():
            if not field.is_required():
                _check_default(model, attribute, field)
    except UnfitPolicyError:
        raise
    except (Exception, SystemExit) as error:  # annotations are foreign code, and may be anything
        raise UnfitPolicyError(f"the signature of {_name(function)} cannot be used: {said(error)}") from error
    return model


def _decided(annotation: Any) -> Any:
    """Return the type of a parameter that is one value or a list so that only one of the two complains."""
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    lists = [option for option in options if get_origin(option) is tuple]
    if (len(options), len(lists)) != (2, 1):
        return annotation
    (one,) = (option for option in options if option is not lists[0])
    return Annotated[Annotated[one, Tag("~name")] | Annotated[lists[0], Tag("~list")], Discriminator(list_tag)]


def _name(function: Callable[..., object]) -> str:
    return clipped(str(getattr(function, "__qualname__", type(function).__qualname__)))


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the keyword-only arguments of a function that can be called with a view and them."""
    signature = inspect.signature(function, eval_str=True)
    wanted = [each for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    try:
        signature.bind(None, **dict.fromkeys(each.name for each in wanted))
    except TypeError as error:
        message = f"{_name(function)} cannot be called with a view and the parameters behind its '*': {error}"
        raise UnfitPolicyError(message) from None
    for each in wanted:
        if each.name == "policy" or each.name.startswith("_"):
            why = "is the key that names the policy" if each.name == "policy" else "begins with '_'"
            raise UnfitPolicyError(f"a parameter of {_name(function)} is called {each.name!r}, which {why}: rename it")
    return wanted


def _check_default(model: type[BaseModel], attribute: str, field: FieldInfo) -> None:
    default = field.get_default(call_default_factory=True, validated_data={})
    if not_finite(default) is not None:
        raise UnfitPolicyError(f"the default of its parameter {field.alias!r} is not finite")
    try:
        written = model.model_construct().model_dump(mode="json", include={attribute}, warnings=False)
        json.dumps(written, allow_nan=False)
    except (Exception, SystemExit):  # a foreign type may fail in any way
        message = f"the default of its parameter {field.alias!r} is a {type(default).__name__}, which no file can hold"
        raise UnfitPolicyError(message) from None
