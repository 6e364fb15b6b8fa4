"""The points that a scenario makes of itself: those of its comparison, and its measured rows."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hetsim.scenario.paths import PathError, resolve, set_values
from hetsim.scenario.tree import Loc, Node, Problem, find, place_of, render, to_python, without
from hetsim.scenario.validate import validate

MOST_POINTS: Final = 256
"""Points of a comparison that are all checked while loading; of a larger one each value is."""

Axis = tuple[str, tuple[Node, ...]]
Point = Sequence[tuple[str, Node]]


def base_of(tree: Node) -> Node:
    """Return what every point has in common.

    Parameters
    ----------
    tree : Node
        The whole scenario.

    Returns
    -------
    Node
        Without the sections that make the points.
    """
    return without(without(tree, "compare"), "measured")


def check_paths(tree: Node) -> Iterator[Problem]:
    """Yield the axes and measured fields that lead to no field.

    Parameters
    ----------
    tree : Node
        The whole scenario.

    Yields
    ------
    Problem
        At the path.
    """
    axes: list[tuple[str, Loc]] = [(path, ("compare", path)) for path, _ in _axes(tree)]
    for loc in [("measured", "scale"), *(("measured", "fields", index) for index in range(len(_fields(tree))))]:
        node = find(tree, loc)
        if node and isinstance(node.value, str):
            axes.append((node.value, loc))
    base = base_of(tree)
    for path, loc in axes:
        try:
            resolve(base, path)
        except PathError as error:
            yield Problem(loc, str(error), place_of(tree, loc, key=True))


def check_points(tree: Node) -> Iterator[Problem]:
    """Yield what is wrong with the points; a value that is wrong has its own place.

    Parameters
    ----------
    tree : Node
        The whole scenario, whose fields and paths are right.

    Yields
    ------
    Problem
        Of the comparison, then of the measured rows.
    """
    points: list[Point] = list(_combinations(_axes(tree)))
    fields = _fields(tree)
    scale = find(tree, ("measured", "scale"))
    if scale and scale.value not in fields:
        yield Problem(("measured", "scale"), f"must be one of the fields: {', '.join(fields)}")
    for index, row in enumerate(_items(find(tree, ("measured", "rows")))):
        problem = _check_row(row, ("measured", "rows", index), len(fields))
        if problem is None:
            points.append(list(zip(fields, _items(row)[:-1], strict=True)))
        else:
            yield problem
    base = base_of(tree)
    for point in points:
        changed = set_values(base, point)
        _, found = validate(changed)
        yield from (_at_point(changed, problem, point) for problem in found)


def _check_row(row: Node, loc: Loc, n_fields: int) -> Problem | None:
    values = _items(row)
    if len(values) != n_fields + 1:
        return Problem(loc, f"{len(values)} values for {n_fields} fields and the measured value")
    measured = values[-1].value
    is_number = isinstance(measured, int | float) and not isinstance(measured, bool)
    if not is_number or not isinstance(measured, int | float) or not 0 < measured < math.inf:
        return Problem((*loc, n_fields), "the measured value must be a number above zero")
    return None


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.value if node and isinstance(node.value, tuple) else ()


def _fields(tree: Node) -> list[str]:
    return [str(node.value) for node in _items(find(tree, ("measured", "fields")))]


def _axes(tree: Node) -> list[Axis]:
    section = find(tree, ("compare",))
    entries = section.value if section and isinstance(section.value, dict) else {}
    return [(path, entry.node.value) for path, entry in entries.items() if isinstance(entry.node.value, tuple)]


def _combinations(axes: Sequence[Axis]) -> Iterator[Point]:
    """Yield the points to check: all of a small grid; of a large one each value beside the first of the others."""
    if not axes:
        return
    if math.prod(len(values) for _, values in axes) <= MOST_POINTS:
        for combination in itertools.product(*(values for _, values in axes)):
            yield [(path, value) for (path, _), value in zip(axes, combination, strict=True)]
        return
    first = {path: values[0] for path, values in axes}
    for path, values in axes:
        for value in values:
            yield list((first | {path: value}).items())


def _at_point(tree: Node, problem: Problem, point: Point) -> Problem:
    """Return a problem at the place of the value that made it, or with the values that made it."""
    path = render(tree, problem.loc)
    if any(_is_within(path, axis) for axis, _ in point):
        return Problem(problem.loc, problem.message, problem.place or place_of(tree, problem.loc))
    return Problem(problem.loc, f"{problem.message} (with {_setting(point)})", point[0][1].place)


def _is_within(path: str, axis: str) -> bool:
    return path == axis or path.startswith((f"{axis}.", f"{axis}["))


def _setting(point: Iterable[tuple[str, Node]]) -> str:
    return ", ".join(f"{axis} = {to_python(value)}" for axis, value in point)
