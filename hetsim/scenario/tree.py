"""What a scenario says, as a tree in which every key and value keeps its place in the file."""

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hetsim.errors import clipped

Scalar = str | int | float | bool | None
Loc = tuple[str | int, ...]
"""Keys and list indices from the root to a value."""

MAX_DEPTH = 64
"""Deeper nesting is refused: no scenario needs more than a dozen levels."""

_LONGEST_NAME: Final = 100
_MOST: Final = 10**400
"""Python refuses to write much larger numbers as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something was written.

    Parameters
    ----------
    file : str
        File name, or another origin such as ``--set``.
    line, column : int
        Counted from one; zero where there is no such thing.
    """

    file: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping.

    Parameters
    ----------
    place : Place
        Of the key.
    node : Node
        Its value.
    """

    place: Place
    node: "Node"


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place.

    Parameters
    ----------
    value : scalar, tuple of Node or dict of str to Entry
        What is written.
    place : Place
        Where.
    """

    value: "Scalar | tuple[Node, ...] | dict[str, Entry]"
    place: Place


class UnfitValueError(ValueError):
    """A Python object has no counterpart in a scenario file."""


def from_python(data: object, place: Place, depth: int = 0) -> Node:
    """Return a tree of Python mappings, sequences and scalars.

    Parameters
    ----------
    data : object
        What `load` was given instead of a file.
    place : Place
        Given to every node.
    depth : int
        Levels above this one.

    Returns
    -------
    Node
        The tree.

    Raises
    ------
    UnfitValueError
        If an object is none of these, a number is huge, or the nesting is too deep.
    """
    if depth > MAX_DEPTH:
        raise UnfitValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(data, Mapping):
        return Node({str(k): Entry(place, from_python(v, place, depth + 1)) for k, v in data.items()}, place)
    if isinstance(data, list | tuple):
        return Node(tuple(from_python(item, place, depth + 1) for item in data), place)
    if data is None or isinstance(data, str | bool | float):
        return Node(data, place)
    if isinstance(data, numbers.Integral):
        return Node(_int(int(data)), place)
    if isinstance(data, numbers.Real):
        return Node(float(data), place)
    raise UnfitValueError(f"an object of type {type(data).__name__} has no place in a scenario")


def _int(number: int) -> int:
    if abs(number) > _MOST:
        raise UnfitValueError("a whole number of more than 400 digits has no place in a scenario")
    return number


def to_python(node: Node) -> object:
    """Return the plain data of a tree.

    Parameters
    ----------
    node : Node
        The tree.

    Returns
    -------
    object
        Dicts, lists and scalars.
    """
    if isinstance(node.value, dict):
        return {key: to_python(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, tuple):
        return [to_python(item) for item in node.value]
    return node.value


def child(node: Node, step: str | int) -> Node | None:
    """Return the value of a key or the item at an index.

    Parameters
    ----------
    node : Node
        A mapping or a list.
    step : str or int
        Key or index.

    Returns
    -------
    Node or None
        None where there is no such thing.
    """
    if isinstance(node.value, dict) and isinstance(step, str):
        entry = node.value.get(step)
        return entry.node if entry else None
    if isinstance(node.value, tuple) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step]
    return None


def find(root: Node, loc: Loc) -> Node | None:
    """Return the node at a location.

    Parameters
    ----------
    root : Node
        The tree.
    loc : Loc
        Where.

    Returns
    -------
    Node or None
        None where nothing is written.
    """
    node: Node | None = root
    for step in loc:
        node = child(node, step) if node else None
    return node


def place_of(root: Node, loc: Loc, *, key: bool = False) -> Place:
    """Return the place of a location, or of the nearest thing around it that is written.

    Parameters
    ----------
    root : Node
        The tree.
    loc : Loc
        Which field.
    key : bool
        Whether the place of the key is wanted instead of that of its value.

    Returns
    -------
    Place
        The place.
    """
    node = root
    for index, step in enumerate(loc):
        below = child(node, step)
        if below is None:
            break
        if key and index == len(loc) - 1 and isinstance(node.value, dict):
            return node.value[str(step)].place
        node = below
    return node.place


def replace(node: Node, loc: Loc, new: Node) -> Node:
    """Return the tree with another value at a location; mappings that are missing on the way are made.

    Parameters
    ----------
    node : Node
        The tree, which is left as it is.
    loc : Loc
        Where; list indices must exist.
    new : Node
        The value.

    Returns
    -------
    Node
        The new tree.
    """
    if not loc:
        return new
    step, rest = loc[0], loc[1:]
    if isinstance(step, int):
        items = node.value if isinstance(node.value, tuple) else ()
        return Node((*items[:step], replace(items[step], rest, new), *items[step + 1 :]), node.place)
    entries = node.value if isinstance(node.value, dict) else {}
    below = entries[step].node if step in entries else Node({}, new.place)
    return Node(entries | {step: Entry(new.place, replace(below, rest, new))}, node.place)


def without(node: Node, key: str) -> Node:
    """Return a mapping without one of its keys.

    Parameters
    ----------
    node : Node
        A mapping.
    key : str
        What to leave out.

    Returns
    -------
    Node
        The new mapping.
    """
    entries = node.value if isinstance(node.value, dict) else {}
    return Node({name: entry for name, entry in entries.items() if name != key}, node.place)


def item_names(node: Node | None) -> list[str | None]:
    """Return the name of each item of a list; None where it has none, one for no path, or that of another item.

    Parameters
    ----------
    node : Node or None
        A list.

    Returns
    -------
    list of str or None
        One for each item.
    """
    items = node.value if node and isinstance(node.value, tuple) else ()
    named = [child(item, "name") for item in items]
    names = [name.value if name and isinstance(name.value, str) and _is_short(name.value) else None for name in named]
    return [name if name and names.count(name) == 1 else None for name in names]


def _is_short(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.isprintable()


def render(root: Node, loc: Loc) -> str:
    """Return a location as a dotted path; items of lists are given by name where they have one.

    Parameters
    ----------
    root : Node
        The tree.
    loc : Loc
        The location.

    Returns
    -------
    str
        Such as ``cluster.hosts[k80].nic``.
    """
    text = ""
    node: Node | None = root
    for step in loc:
        if isinstance(step, int):
            names = item_names(node)
            name = names[step] if 0 <= step < len(names) else None
            text += f"[{step if name is None else name}]"
        else:
            key = clipped(step, _LONGEST_NAME)
            text += f".{key}" if text else key
        node = child(node, step) if node else None
    return text


def leaves(root: Node, loc: Loc = ()) -> Iterator[Loc]:
    """Yield the location of every field that holds a value; a list of plain values is one field.

    Parameters
    ----------
    root : Node
        The tree.
    loc : Loc
        Where the tree hangs.

    Yields
    ------
    Loc
        In the order of the file.
    """
    if isinstance(root.value, dict):
        for key, entry in root.value.items():
            yield from leaves(entry.node, (*loc, key))
    elif isinstance(root.value, tuple) and any(isinstance(item.value, dict) for item in root.value):
        for index, item in enumerate(root.value):
            yield from leaves(item, (*loc, index))
    else:
        yield loc
