"""What pydantic found, in words for the person who wrote the file."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from hetsim.lookup import did_you_mean, unknown
from hetsim.scenario.fields import CUSTOM, shown
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, child, find, place_of

MISSING: Final = "required, but missing"

_CONSTRAINTS: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    "greater_than_equal": lambda ctx: f"must be at least {_number(ctx['ge'])}",
    "greater_than": lambda ctx: f"must be more than {_number(ctx['gt'])}",
    "less_than_equal": lambda ctx: f"must be at most {_number(ctx['le'])}",
    "less_than": lambda ctx: f"must be less than {_number(ctx['lt'])}",
    "finite_number": lambda _: "must be finite",
    "string_type": lambda _: "must be text",
    "int_type": lambda _: "must be a whole number",
    "int_from_float": lambda _: "must be a whole number",
    "int_parsing_size": lambda _: "must be a smaller number",
    "float_type": lambda _: "must be a number",
    "bool_type": lambda _: "must be true or false",
    "tuple_type": lambda _: "must be a list",
    "list_type": lambda _: "must be a list",
    "model_type": lambda _: "must be a mapping of keys to values",
    "dict_type": lambda _: "must be a mapping of keys to values",
}


def problems_of(error: ValidationError, root: Node, model: type[BaseModel], at: Loc = ()) -> list[Problem]:
    """Return what pydantic found as problems.

    Parameters
    ----------
    error : ValidationError
        From validating against `model`.
    root : Node
        The whole tree.
    model : type of BaseModel
        The schema, whose keys are the valid ones.
    at : Loc
        Where in the tree the validated data is.

    Returns
    -------
    list of Problem
        One for each error.
    """
    found = [details for details in error.errors(include_url=False) if not _is_follow_up(details)]
    misspelt = [details["loc"] for details in found if details["type"] == "extra_forbidden"]
    return [
        _problem(details, root, model, at)
        for details in found
        if not (details["type"] == "missing" and _is_meant(details["loc"], misspelt))
    ]


def _is_follow_up(details: ErrorDetails) -> bool:
    """Return whether a list counts as too short only because of items that have errors of their own."""
    limit = details.get("ctx", {}).get("min_length")
    return details["type"] == "too_short" and limit is not None and len(details["input"]) >= limit


def _is_meant(missing: Loc, misspelt: Sequence[Loc]) -> bool:
    """Return whether an unknown key beside a missing one looks like it; then one message is enough."""
    return any(loc[:-1] == missing[:-1] and did_you_mean(str(loc[-1]), [str(missing[-1])]) for loc in misspelt)


def _problem(details: ErrorDetails, root: Node, model: type[BaseModel], at: Loc) -> Problem:
    is_unknown_key = details["type"] == "extra_forbidden"
    last = details["loc"][-1:] if is_unknown_key else ()
    around = details["loc"][:-1] if is_unknown_key else details["loc"]
    loc = (*at, *_without_tags(around, model, find(root, at)), *last)
    if is_unknown_key:
        return Problem(loc, unknown("key", str(loc[-1]), known_keys(model, around)), place_of(root, loc, key=True))
    return Problem(loc, _message(details))


def _without_tags(steps: Loc, model: type[BaseModel], node: Node | None) -> Iterator[str | int]:
    """Yield keys and indices; pydantic puts a tag between them where a union was decided.

    A key of the file may look like a tag. Of a mapping, a tag is one of those of its field, and comes first.
    """
    models, tags, is_decided = [model], set[str](), True
    for step in steps:
        is_tag = _is_tag(step)
        if is_tag and node is not None and isinstance(node.value, dict):
            is_tag = not is_decided and step in tags
        if isinstance(step, str) and not is_tag:
            tags = {tag for annotation in _annotations(models, step) for tag in _tags_in(annotation)}
        models = _below(models, step, is_tag=is_tag)
        is_decided = is_tag
        if not is_tag:
            node = child(node, step) if node else None
            yield step


def _tags_in(annotation: object) -> Iterator[str]:
    if isinstance(annotation, Tag):
        yield annotation.tag
    for part in get_args(annotation):
        yield from _tags_in(part)


def _message(details: ErrorDetails) -> str:
    kind, ctx = details["type"], details.get("ctx", {})
    if kind == CUSTOM:
        return details["msg"]
    if kind == "missing":
        return MISSING
    if kind == "literal_error":
        return _literal(ctx["expected"], details["input"])
    if kind in ("too_short", "too_long"):
        return _length(kind, ctx)
    if kind in _CONSTRAINTS:
        return f"{_CONSTRAINTS[kind](ctx)}, not {shown(details['input'])}{_as_fraction(kind, details['input'])}"
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}, not {shown(details['input'])}"


def _as_fraction(kind: str, value: object) -> str:
    """Return how to write a percentage, where one stands for a number."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*", value) if isinstance(value, str) else None
    return f": write {float(match[1]) / 100:g}" if match and kind == "float_type" else ""


def _number(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


def _literal(expected: str, value: object) -> str:
    choices = [choice.strip("'") for choice in expected.replace(" or ", ", ").split(", ")]
    hint = did_you_mean(value, choices) if isinstance(value, str) else ""
    return f"must be {expected}, not {shown(value)}{hint}"


def _length(kind: str, ctx: Mapping[str, Any]) -> str:
    least, limit = kind == "too_short", ctx.get("min_length", ctx.get("max_length"))
    items = "item" if limit == 1 else "items"
    return f"must have at {'least' if least else 'most'} {limit} {items}, not {ctx['actual_length']}"


def _is_tag(step: str | int) -> bool:
    return isinstance(step, str) and step.startswith("~")


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation mentions.

    Parameters
    ----------
    annotation : object
        A type, a union, a generic alias.

    Yields
    ------
    type of BaseModel
        Each model.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def models_at(model: type[BaseModel], steps: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """Return the models that may describe what is at a location.

    Parameters
    ----------
    model : type of BaseModel
        The root.
    steps : tuple of str or int
        Keys, indices, and the tags that pydantic puts in where a union was decided.

    Returns
    -------
    list of type of BaseModel
        Empty where the location holds plain values.
    """
    models = [model]
    for step in steps:
        models = _below(models, step, is_tag=_is_tag(step))
    return models


def _below(models: list[type[BaseModel]], step: str | int, *, is_tag: bool) -> list[type[BaseModel]]:
    if is_tag:
        return [each for each in models if each.__name__ == str(step)[1:]]
    if isinstance(step, int):
        return models
    return [inner for annotation in _annotations(models, step) for inner in models_in(annotation)]


def _annotations(models: list[type[BaseModel]], key: str) -> list[object]:
    return [written(each)[key].annotation for each in models if key in written(each)]


def written(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the key that a file writes.

    Parameters
    ----------
    model : type of BaseModel
        Perhaps with aliases.

    Returns
    -------
    dict of str to FieldInfo
        In the order of the model.
    """
    return {field.alias or name: field for name, field in model.model_fields.items()}


def known_keys(model: type[BaseModel], steps: tuple[str | int, ...]) -> list[str]:
    """Return the keys that a mapping at a location may have.

    Parameters
    ----------
    model : type of BaseModel
        The root.
    steps : tuple of str or int
        As for `models_at`.

    Returns
    -------
    list of str
        In the order of the schema.
    """
    return list(dict.fromkeys(name for each in models_at(model, steps) for name in written(each)))
