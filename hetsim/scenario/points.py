"""The points that a scenario makes of itself: those of its comparison, and its measured rows."""

import itertools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hetsim.errors import clipped
from hetsim.scenario.fields import shown
from hetsim.scenario.paths import PathError, canonical, clashes, resolve, set_values
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc, Node, find, place_of, to_python, without
from hetsim.scenario.validate import validate

MOST_POINTS: Final = 64
"""Points of a comparison that are all checked while loading; of a larger one each value is."""

LEAST_MEASURED: Final = 1e-30
MOST_MEASURED: Final = 1e30
"""Far beyond what can be measured, and near enough for every error to be a number."""

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
    """Yield the axes and measured fields that lead to no field, or to one that another sets, and repeated values.

    Parameters
    ----------
    tree : Node
        The whole scenario.

    Yields
    ------
    Problem
        At the path.
    """
    base = base_of(tree)
    axes: list[tuple[str, Loc]] = [(path, ("compare", path)) for path, _ in _axes(tree)]
    fields: list[tuple[str, Loc]] = [(path, ("measured", "fields", i)) for i, path in enumerate(_fields(tree))]
    scale = find(tree, ("measured", "scale"))
    scales: list[tuple[str, Loc]] = [(str(scale.value), ("measured", "scale"))] if scale else []
    for path, loc in [*axes, *scales, *fields]:
        try:
            resolve(base, path)
        except PathError as error:
            yield Problem(loc, str(error), place_of(tree, loc, key=True))
    for named in (axes, fields):
        for index, message in clashes(base, [path for path, _ in named]):
            loc = named[index][1]
            yield Problem(loc, message, place_of(tree, loc, key=True))
    for path, values in _axes(tree):
        for index in repeated([to_python(value) for value in values]):
            yield Problem(("compare", path), f"{to_python(values[index])!r} is there twice", values[index].place)


def repeated(values: Sequence[object]) -> list[int]:
    """Return which values of an axis are there before.

    Parameters
    ----------
    values : sequence of object
        JSON values.

    Returns
    -------
    list of int
        Indices of the later ones.
    """
    texts = [json.dumps(value, sort_keys=True) for value in values]
    return [index for index, text in enumerate(texts) if text in texts[:index]]


def check_measured(tree: Node) -> Iterator[Problem]:
    """Yield what is wrong with the measured rows by themselves.

    Parameters
    ----------
    tree : Node
        The whole scenario, whose fields and paths are right.

    Yields
    ------
    Problem
        Of the scale, then of the rows.
    """
    fields, scale = _fields(tree), find(tree, ("measured", "scale"))
    if scale:
        base, path = base_of(tree), str(scale.value)
        if canonical(base, path) not in [canonical(base, field) for field in fields]:
            yield Problem(("measured", "scale"), f"must be one of the fields: {', '.join(fields)}")
        if measured_job(tree) is None:
            message = f"{path} belongs to no job, and there are several: name a field of the job that was measured"
            yield Problem(("measured", "scale"), message)
    for index, row in enumerate(_items(find(tree, ("measured", "rows")))):
        yield from _check_row(row, ("measured", "rows", index), len(fields))
    yield from _check_scales(tree)


def _check_scales(tree: Node) -> Iterator[Problem]:
    """Yield the values of the scaled field that nothing can be proportional to, such as texts with a unit."""
    base, fields, scale = base_of(tree), _fields(tree), find(tree, ("measured", "scale"))
    path = canonical(base, str(scale.value)) if scale else ""
    for column in [index for index, field in enumerate(fields) if canonical(base, field) == path]:
        for index, row in enumerate(_items(find(tree, ("measured", "rows")))):
            value = to_python(_items(row)[column]) if len(_items(row)) == len(fields) + 1 else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
                message = f"the field that linear scaling goes by must be a number above zero, not {shown(value)}"
                yield Problem(("measured", "rows", index, column), message)


def measured_job(tree: Node) -> int | None:
    """Return the job that the measured values are about: that of the scale, or the only one.

    Parameters
    ----------
    tree : Node
        The whole scenario, whose fields and paths are right.

    Returns
    -------
    int or None
        Index of the job; None where it cannot be told.
    """
    scale = find(tree, ("measured", "scale"))
    loc = resolve(base_of(tree), str(scale.value)) if scale else ()
    if loc[:1] == ("jobs",) and len(loc) > 1:
        return int(loc[1])
    return 0 if len(_items(find(tree, ("jobs",)))) == 1 else None


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
    yield from check_measured(tree)
    fields = _fields(tree)
    points: list[Point] = list(_combinations(_axes(tree)))
    rows = [row for row in _items(find(tree, ("measured", "rows"))) if not any(_check_row(row, (), len(fields)))]
    points += [list(zip(fields, _items(row)[:-1], strict=True)) for row in rows]
    yield from _check_each(base_of(tree), points)


def _check_each(base: Node, points: Sequence[Point]) -> Iterator[Problem]:
    """Yield each problem once, with the values that make it where the value it is about does not do so alone."""
    locs = {axis: resolve(base, axis) for point in points for axis, _ in point}
    bad: dict[Problem, list[Point]] = {}
    for point in points:
        changed = set_values(base, point)
        for problem in validate(changed)[1]:
            is_own = any(_is_within(problem.loc, locs[axis]) for axis, _ in point)
            place = problem.place or (place_of(changed, problem.loc) if is_own else point[0][1].place)
            bad.setdefault(Problem(problem.loc, problem.message, place), []).append(point)
    good = [point for point in points if not any(point in where for where in bad.values())]
    for problem, where in bad.items():
        own = [pair for pair in where[0] if _is_within(problem.loc, locs[pair[0]])]
        is_alone = own and not any(all(pair in point for pair in own) for point in good)
        others = [pair for pair in where[0] if pair not in own]
        message = problem.message if is_alone else f"{problem.message} (with {_setting(others)})"
        yield Problem(problem.loc, message, problem.place)


def _check_row(row: Node, loc: Loc, n_fields: int) -> Iterator[Problem]:
    values = _items(row)
    if len(values) != n_fields + 1:
        yield Problem(loc, f"{len(values)} values for {n_fields} fields and the measured value")
        return
    measured = values[-1].value
    if isinstance(measured, bool) or not isinstance(measured, int | float) or not 0 < measured < math.inf:
        yield Problem((*loc, n_fields), "the measured value must be a number above zero")
    elif not LEAST_MEASURED <= measured <= MOST_MEASURED:
        message = f"the measured value must lie between {LEAST_MEASURED:g} and {MOST_MEASURED:g}"
        yield Problem((*loc, n_fields), message)


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


def _is_within(loc: Loc, axis: Loc) -> bool:
    return loc[: len(axis)] == axis


def _setting(point: Iterable[tuple[str, Node]]) -> str:
    return ", ".join(f"{axis} = {clipped(str(to_python(value)))}" for axis, value in point)
