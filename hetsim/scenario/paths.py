"""Field paths as a person writes them, such as ``cluster.hosts[v100].memory``, and values set by them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hetsim.errors import Issue, ScenarioError
from hetsim.lookup import unknown
from hetsim.scenario.messages import known_keys, models_at
from hetsim.scenario.problems import Problem, issues_of
from hetsim.scenario.schema import PolicySection, ScenarioFile
from hetsim.scenario.tree import Loc, Node, Place, Scalar, child, from_python, item_names, render, replace, to_python
from hetsim.scenario.yaml_source import read

_STEP: Final = re.compile(r"(?:^|\.)(?P<key>[^.\[\]=]+)|\[(?P<item>[^\[\]]*)\]")


_SHOWN_TEXT: Final = 60
"""Longer overrides are cut in messages."""


class PathError(ValueError):
    """A path leads to no field."""


def resolve(root: Node, path: str) -> Loc:
    """Return the location that a path names.

    Parameters
    ----------
    root : Node
        The tree.
    path : str
        Keys joined by dots; items of lists by name or index in brackets.

    Returns
    -------
    Loc
        The field need not be written, but the schema must have it, and items of lists must exist.

    Raises
    ------
    PathError
        Saying which step leads nowhere, and where it could lead.
    """
    loc: Loc = ()
    node: Node | None = root
    for key, item in _steps(path):
        step = _index(root, node, loc, item) if item is not None else _key(root, node, loc, key)
        node = child(node, step) if node else None
        loc = (*loc, step)
    return loc


def canonical(root: Node, path: str) -> str:
    """Return the one spelling of a path: items of lists by name where they have one.

    Parameters
    ----------
    root : Node
        The tree.
    path : str
        Any spelling.

    Returns
    -------
    str
        Such as ``jobs[train].workers`` for ``jobs[0].workers``.

    Raises
    ------
    PathError
        If the path leads to no field.
    """
    return render(root, resolve(root, path))


def clashes(root: Node, paths: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the paths that name a field which another path before them sets, as a whole or in part.

    Parameters
    ----------
    root : Node
        The tree.
    paths : sequence of str
        In any spelling; those that lead to no field are passed over.

    Yields
    ------
    index : int
        Of the later path.
    message : str
        Names both.
    """
    before: list[tuple[str, Loc]] = []
    for index, path in enumerate(paths):
        try:
            loc = resolve(root, path)
        except PathError:
            continue
        for other, there in before:
            n = min(len(loc), len(there))
            if loc[:n] == there[:n]:
                why = "are the same field" if loc == there else "cannot both be set: one is a part of the other"
                yield index, f"{other!r} and {path!r} {why}"
                break
        before.append((path, loc))


def _steps(path: str) -> list[tuple[str, str | None]]:
    matches = list(_STEP.finditer(path))
    whole = "".join(match.group() for match in matches) == path
    if not matches or not whole:
        raise PathError(f"{path!r} is no field path: write it like cluster.hosts[v100].memory")
    return [(match["key"] or "", match["item"]) for match in matches]


def _index(root: Node, node: Node | None, loc: Loc, item: str) -> int:
    where = render(root, loc)
    if node is None or not isinstance(node.value, tuple):
        raise PathError(f"{where or 'the scenario'} is no list, so it has no item [{item}]")
    names = item_names(node)
    if item in names:
        return names.index(item)
    if item.isdecimal() and len(item) < 10 and int(item) < len(names):
        return int(item)
    choices = [str(index) if name is None else name for index, name in enumerate(names)]
    raise PathError(unknown(f"item of {where}", item, choices))


def _key(root: Node, node: Node | None, loc: Loc, key: str) -> str:
    where = render(root, loc)
    if node is not None and isinstance(node.value, tuple):
        raise PathError(f"{where} is a list: name one of its items, as in {where}[0].{key}")
    if node is not None and not isinstance(node.value, dict):
        raise PathError(f"{where} is {node.value!r}, which has no keys")
    choices = known_keys(ScenarioFile, loc)
    is_open = any(issubclass(model, PolicySection) for model in models_at(ScenarioFile, loc))
    if loc[:1] in (("compare",), ("measured",)) or not choices:
        raise PathError(f"{where} has no keys")
    if key not in choices and not is_open:
        raise PathError(unknown("key", key, choices) if not where else unknown(f"key of {where}", key, choices))
    return key


def parse_value(text: str, file: str) -> Node:
    """Return a value written on the command line: a YAML scalar, or a list or mapping in flow style.

    Parameters
    ----------
    text : str
        Such as ``64 GiB`` or ``{cv: 0.1}``.
    file : str
        What to call the place in messages.

    Returns
    -------
    Node
        The value.

    Raises
    ------
    ScenarioError
        If the text is no YAML.
    """
    node, problems = read(text, file)
    place = Place(file=file)
    if problems:
        raise ScenarioError([Issue(path="", message=problem.message, file=file) for problem in problems])
    return _moved(node, place) if node else Node(None, place)


def _moved(node: Node, place: Place) -> Node:
    value = node.value
    if isinstance(value, dict | tuple):
        return from_python(to_python(node), place)
    return Node(value, place)


def value_of(text: str) -> "Scalar | list[object] | dict[str, object]":
    """Return the plain data of a value written on the command line.

    Parameters
    ----------
    text : str
        As for `parse_value`.

    Returns
    -------
    scalar, list or dict
        For `Scenario.with_values`.
    """
    return to_python(parse_value(text, "value"))  # type: ignore[return-value]


def apply_overrides(root: Node, overrides: Iterable[str]) -> Node:
    """Return the tree with fields set by texts such as ``jobs[train].workers=8``.

    Parameters
    ----------
    root : Node
        The tree.
    overrides : iterable of str
        Each ``path=value``; later ones win.

    Returns
    -------
    Node
        The new tree.

    Raises
    ------
    ScenarioError
        With every override that is malformed or leads to no field.
    """
    issues: list[Issue] = []
    for text in overrides:
        path, equals, value = text.partition("=")
        file = f"--set {text}" if len(text) <= _SHOWN_TEXT else f"--set {path.strip()}=..."
        if not equals:
            message = "write it as path=value, such as jobs[train].workers=8"
            issues.append(Issue(path="", message=message, file=file))
            continue
        try:
            root = replace(root, resolve(root, path.strip()), parse_value(value, file))
        except PathError as error:
            issues.append(Issue(path="", message=str(error), file=file))
        except ScenarioError as error:
            issues += error.issues
    if issues:
        raise ScenarioError(issues)
    return root


def set_values(root: Node, values: Iterable[tuple[str, Node]]) -> Node:
    """Return the tree with fields set by path; every path is looked up in the tree as it is.

    Parameters
    ----------
    root : Node
        The tree.
    values : iterable of (str, Node)
        Path and value.

    Returns
    -------
    Node
        The new tree.

    Raises
    ------
    ScenarioError
        With every path that leads to no field, or to one that another path sets.
    """
    pairs = list(values)
    problems = [Problem((), text, pairs[i][1].place) for i, text in clashes(root, [path for path, _ in pairs])]
    changes: list[tuple[Loc, Node]] = []
    for path, node in pairs:
        try:
            changes.append((resolve(root, path), node))
        except PathError as error:
            problems.append(Problem((), f"{path}: {error}", node.place))
    if problems:
        raise ScenarioError(issues_of(root, problems))
    # A name that changes must not hide the item from the other paths.
    for loc, node in changes:
        root = replace(root, loc, node)
    return root
