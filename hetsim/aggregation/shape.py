"""What of a policy's answer is not of the type that its field has, whatever the values mean."""

import dataclasses
import functools
from collections.abc import Iterator
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from hetsim.aggregation.flaws import Flaw, Steps
from hetsim.model.aggregation import Group

MAX_DEPTH: Final = 64
"""Levels of groups inside of groups; no cluster has as many."""

_WORDS: Final = {int: "a whole number", float: "a number", str: "text", bool: "True or False", tuple: "a tuple"}


def mistyped(tree: Group) -> Iterator[Flaw]:
    """Yield the fields of a tree that hold something of another type.

    Parameters
    ----------
    tree : Group
        Returned by a policy, which is foreign code.

    Yields
    ------
    Flaw
        From the root down.

    Examples
    --------
    >>> [str(flaw) for flaw in mistyped(Group(members=None, architecture="ring"))]
    ['aggregation.members: must be a tuple, not a NoneType']
    """
    yield from _dataclass(tree, ())


def _dataclass(value: Any, at: Steps) -> Iterator[Flaw]:
    if len(at) > 2 * MAX_DEPTH:
        yield Flaw(at[:2], f"nested more than {MAX_DEPTH} levels deep")
        return
    for name, hint in _hints(value.__class__).items():
        yield from _wrong(getattr(value, name), hint, (*at, name))


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    fields = {field.name for field in dataclasses.fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in fields}


def _wrong(value: object, hint: Any, at: Steps) -> Iterator[Flaw]:
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    option = next((option for option in options if _is_a(value, _kind(option))), None)
    if option is None:
        yield Flaw(at, _complaint(value, [_kind(option) for option in options]))
    elif dataclasses.is_dataclass(option):
        yield from _dataclass(value, at)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _wrong(item, get_args(option)[0], (*at, index))


def _kind(hint: Any) -> type:
    """Return the class that a value of an annotation has; which texts a field may hold is checked elsewhere."""
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    kind: type = get_origin(hint) or hint
    return kind


def _is_a(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _complaint(value: object, kinds: list[type]) -> str:
    words = [_WORDS.get(kind, f"a {kind.__name__}") for kind in dict.fromkeys(kinds)]
    found = f"a {type(value).__name__}"
    return f"must be {words[0]}, not {found}" if len(words) == 1 else f"{found} is neither {' nor '.join(words)}"
