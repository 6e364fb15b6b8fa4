"""The axes of a comparison: each field under its one spelling, each value once."""

from collections.abc import Iterable, Sequence

from hetsim.errors import Issue, ScenarioError
from hetsim.scenario.load import Scenario
from hetsim.scenario.paths import PathError, canonical, clashes
from hetsim.scenario.points import base_of, repeated
from hetsim.scenario.tree import Place, UnfitValueError, from_python, to_python

Axes = dict[str, tuple[object, ...]]
"""Values to try by field path; items of lists are named where they have a name."""


def axes_of(scenario: Scenario, given: Iterable[tuple[str, Sequence[object]]]) -> Axes:
    """Return axes under the one spelling of their fields.

    Parameters
    ----------
    scenario : Scenario
        What the paths lead into.
    given : iterable of (str, sequence)
        Field path in any spelling, and the values to try.

    Returns
    -------
    dict of str to tuple
        JSON values by field path, in the order given.

    Raises
    ------
    ScenarioError
        With every path that leads to no field or to one that another path sets, and every axis without a value or with
        one that is there twice.
    """
    base = base_of(scenario.tree)
    pairs = list(given)
    issues = [Issue(path="", message=message) for _, message in clashes(base, [path for path, _ in pairs])]
    axes: Axes = {}
    for path, values in pairs:
        try:
            axes[canonical(base, path)] = _checked(values)
        except (PathError, UnfitValueError) as error:
            issues.append(Issue(path=path, message=str(error)))
    if issues:
        raise ScenarioError(issues)
    return axes


def crossed(scenario: Scenario, given: Iterable[tuple[str, Sequence[object]]]) -> Axes:
    """Return the axes of a scenario's ``compare:`` section together with others, which replace those of the same field.

    Parameters
    ----------
    scenario : Scenario
        With axes of its own, or without.
    given : iterable of (str, sequence)
        Field path in any spelling, and the values to try.

    Returns
    -------
    dict of str to tuple
        JSON values by field path: the scenario's order, then that of the others.

    Raises
    ------
    ScenarioError
        As for `axes_of`.
    """
    merged = axes_of(scenario, scenario.axes.items()) | axes_of(scenario, given)
    return axes_of(scenario, merged.items())


def _checked(values: Sequence[object]) -> tuple[object, ...]:
    """Return the values as JSON values; an array of numbers becomes numbers."""
    if isinstance(values, str):
        raise UnfitValueError(f"an axis needs a list of values, not the text {values!r}")
    plain = [to_python(from_python(value, Place())) for value in values]
    if not plain:
        raise UnfitValueError("an axis needs one value or more")
    if twice := repeated(plain):
        raise UnfitValueError(f"{plain[twice[0]]!r} is there twice")
    return tuple(plain)
