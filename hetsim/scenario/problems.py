"""Problems found in a tree, and how they become issues."""

import math
from dataclasses import dataclass

from hetsim.errors import Issue
from hetsim.scenario.tree import Loc, Node, Place, place_of, render


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a location of a tree.

    Parameters
    ----------
    loc : Loc
        Which field.
    message : str
        What is wrong.
    place : Place or None
        Where; by default the place of the field, or of the nearest thing around it that is written.
    """

    loc: Loc
    message: str
    place: Place | None = None


def issues_of(root: Node, problems: list[Problem]) -> list[Issue]:
    """Return problems as issues, in the order of the file.

    Parameters
    ----------
    root : Node
        The tree they are about.
    problems : list of Problem
        In any order.

    Returns
    -------
    list of Issue
        Without repetitions; those that have no line come last.
    """
    found: dict[Issue, tuple[float, int]] = {}
    for problem in problems:
        place = problem.place or place_of(root, problem.loc)
        issue = Issue(
            path=render(root, problem.loc),
            message=problem.message,
            file=place.file,
            line=place.line,
            column=place.column,
        )
        found.setdefault(issue, (place.line or math.inf, place.column))
    return sorted(found, key=lambda issue: found[issue])
