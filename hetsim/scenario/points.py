"""The points that a scenario makes of itself: those of its comparison, and its measured rows."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hetsim.scenario.paths import PathError, resolve, set_values
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, find, place_of, render, to_python, without
from hetsim.scenario.validate import validate

MOST_POINTS: Final = 64
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
    yield from _check_each(base_of(tree), points)


def _check_each(base: Node, points: Sequence[Point]) -> Iterator[Problem]:
    """Yield each problem once, with the values that make it where the value it is about does not do so alone."""
    bad: dict[Problem, list[Point]] = {}
    for point in points:
        changed = set_values(base, point)
        for problem in validate(changed)[1]:
            is_own = any(_is_within(render(changed, problem.loc), axis) for axis, _ in point)
            place = problem.place or (place_of(changed, problem.loc) if is_own else point[0][1].place)
            bad.setdefault(Problem(problem.loc, problem.message, place), []).append(point)
    good = [point for point in points if not any(point in where for where in bad.values())]
    for problem, where in bad.items():
        path = render(base, problem.loc)
        own = [pair for pair in where[0] if _is_within(path, pair[0])]
        is_alone = own and not any(all(pair in point for pair in own) for point in good)
        others = [pair for pair in where[0] if pair not in own]
        message = problem.message if is_alone else f"{problem.message} (with {_setting(others)})"
        yield Problem(problem.loc, message, problem.place)


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


def _is_within(path: str, axis: str) -> bool:
    return path == axis or path.startswith((f"{axis}.", f"{axis}["))


def _setting(point: Iterable[tuple[str, Node]]) -> str:
    return ", ".join(f"{axis} = {to_python(value)}" for axis, value in point)
