"""Find a thing by name in a literal table, or say which names there are."""

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import TypeVar, cast

from hetsim.errors import PolicyError, UnknownNameError

T = TypeVar("T")


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest choice, or an empty text.

    Parameters
    ----------
    name : str
        What was written.
    choices : iterable of str
        What could have been meant.

    Returns
    -------
    str
        A suffix for a message.

    Examples
    --------
    >>> did_you_mean("resnet5", ["resnet50", "vgg16"])
    "; did you mean 'resnet50'?"
    """
    folded = {choice.lower().replace("_", "-"): choice for choice in choices}
    near = difflib.get_close_matches(name.lower().replace("_", "-"), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for a name that no table holds.

    Parameters
    ----------
    kind : str
        What is looked for, such as ``"placement policy"``.
    name : str
        What was written.
    choices : iterable of str
        The valid names.

    Returns
    -------
    str
        The message, with the choices in their order and a did-you-mean.
    """
    names = list(choices)
    hint = did_you_mean(name, names) or "."
    return f"no {kind} {name!r}{hint} Known: {', '.join(names)}"


def find(table: Mapping[str, T], name: str, kind: str) -> T:
    """Return the entry of a literal table.

    Parameters
    ----------
    table : mapping of str to T
        A literal table.
    name : str
        The name wanted.
    kind : str
        What the table holds, for the message.

    Returns
    -------
    T
        The entry.

    Raises
    ------
    UnknownNameError
        If the table has no such name.
    """
    try:
        return table[name]
    except KeyError:
        raise UnknownNameError(unknown(kind, name, table)) from None


def find_plugin(table: Mapping[str, T], name: str, kind: str, group: str) -> T:
    """Return a built-in, else an entry point of `group`, else the object at a dotted path ``pkg.mod:object``.

    Parameters
    ----------
    table : mapping of str to T
        The built-in plug-ins.
    name : str
        A name, or a dotted path.
    kind : str
        What is looked for, for the message.
    group : str
        The entry point group, such as ``"hetsim.placement"``.

    Returns
    -------
    T
        The plug-in.

    Raises
    ------
    UnknownNameError
        If there is none, or its module cannot be imported.
    """
    if name in table:
        return table[name]
    external = {point.name: point for point in entry_points(group=group)}
    if name in external:
        return cast("T", external[name].load())
    if ":" not in name:
        raise UnknownNameError(unknown(kind, name, [*table, *external]))
    module_name, _, attribute = name.partition(":")
    try:
        return cast("T", getattr(importlib.import_module(module_name), attribute))
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownNameError(f"no {kind} at {name!r}: {error}") from error


def ask(
    function: Callable[..., object],
    view: object,
    parameters: Mapping[str, object],
    *,
    names: tuple[str, str],
    kind: type[T],
) -> T:
    """Return a policy's answer; whatever goes wrong inside the policy becomes a `PolicyError`.

    Parameters
    ----------
    function : callable
        The policy.
    view : object
        What it may see.
    parameters : mapping
        Its keyword arguments.
    names : tuple of (str, str)
        Policy and job, for messages.
    kind : type
        What it must return.

    Returns
    -------
    T
        The answer.

    Raises
    ------
    PolicyError
        If the policy raises, or returns something else.
    """
    if not callable(function):
        raise PolicyError(*names, f"a {type(function).__name__} is no function of a view")
    try:
        answer = function(view, **parameters)
    except PolicyError:
        raise
    except Exception as error:  # a policy is foreign code: any failure of it is reported as its own
        raise PolicyError(*names, f"raised {type(error).__name__}: {error}") from error
    if not isinstance(answer, kind):
        raise PolicyError(*names, f"returned a {type(answer).__name__}, not a {kind.__name__}")
    return answer
