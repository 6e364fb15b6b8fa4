"""Find a thing by name in a literal table, or say which names there are."""

import copy
import difflib
import importlib
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import Final, TypeVar, cast

from hetsim.errors import PolicyError, UnknownNameError, clipped

T = TypeVar("T")

_LEAST_PART: Final = 3
"""A part of a name must have as many letters to stand for the whole."""

_LEAST_WORD: Final = 6
"""And a word of a description, since there are many."""

_REASON: Final = 300
"""Characters of the text of a foreign error that a message repeats."""


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
    >>> did_you_mean("ring-allreduce", ["parameter-server", "ring"])
    "; did you mean 'ring'?"
    """
    folded = {_folded(choice): choice for choice in choices}
    written = _folded(name)
    near = difflib.get_close_matches(clipped(written), folded, n=1, cutoff=0.6)
    near = near or [choice for choice in folded if _is_part(choice, written) or _is_part(written, choice)]
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")


def _is_part(part: str, whole: str) -> bool:
    """Return whether a name begins with another, or with one of its words does."""
    return len(part) >= _LEAST_PART and f"-{part}" in f"-{whole}"


def unknown(kind: str, name: str, choices: Iterable[str], *, hint: str = "") -> str:
    """Return the message for a name that no table holds.

    Parameters
    ----------
    kind : str
        What is looked for, such as ``"placement policy"``.
    name : str
        What was written.
    choices : iterable of str
        The valid names.
    hint : str
        A did-you-mean for a name that is near to none.

    Returns
    -------
    str
        The message, with the choices in their order and a did-you-mean.
    """
    names = list(choices)
    hint = did_you_mean(name, names) or hint or "."
    return f"no {kind} {clipped(repr(name))}{hint} Known: {', '.join(names)}"


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

    A class whose instances can be called stands for an instance of it.

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
        If there is none, or loading it fails, in whatever way.
    """
    if name in table:
        return table[name]
    external = {point.name: point for point in entry_points(group=group)}
    if name not in external and ":" not in name:
        raise UnknownNameError(unknown(kind, name, [*table, *external], hint=_by_description(name, table)))
    try:
        found = _called(external[name].load() if name in external else _at(name))
    except (Exception, SystemExit) as error:  # foreign code: whatever it does wrong is told, not passed on
        raise UnknownNameError(f"no {kind} at {clipped(repr(name))}: {reason(error)}") from error
    return cast("T", found)


def _called(found: object) -> object:
    """Return an instance of a class whose instances can be called; all else as it is."""
    is_class = isinstance(found, type) and any("__call__" in vars(base) for base in found.__mro__)
    return found() if is_class and callable(found) else found


def _at(path: str) -> object:
    module, _, attribute = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise ImportError("write it as package.module:function")
    return getattr(importlib.import_module(module), attribute)


def _by_description(name: str, table: Mapping[str, object]) -> str:
    """Return a did-you-mean for a name that the first line of an entry's docstring holds, such as ``allreduce``."""
    word = _letters(name)
    for choice, entry in table.items():
        line = (getattr(entry, "function", entry).__doc__ or "").strip().partition("\n")[0]
        if len(word) >= _LEAST_WORD and word in _letters(line):
            return f"; did you mean {choice!r}?"
    return ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def reason(error: BaseException) -> str:
    """Return why foreign code could not be used: the error, and where it was raised.

    Parameters
    ----------
    error : BaseException
        As caught.

    Returns
    -------
    str
        One line. What a missing module or name says needs no place; all else has file and line of the foreign code.
    """
    text = said(error)
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_foreign(frame.filename)]
    if not frames:
        return text.partition(": ")[2] or text
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"


def said(error: BaseException) -> str:
    r"""Return type and text of a foreign error.

    Parameters
    ----------
    error : BaseException
        Even one whose text cannot be made.

    Returns
    -------
    str
        One line, cut where it is very long.

    Examples
    --------
    >>> said(KeyError("x")), said(ValueError("two\nlines"))
    ("KeyError: 'x'", 'ValueError: two')
    """
    lines = traceback.format_exception_only(error)
    return clipped(next(line for line in lines if not line.startswith(" ")).partition("\n")[0], _REASON)


def _is_foreign(file: str) -> bool:
    return file != __file__ and not file.startswith(("<", *importlib.__path__))


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
        # A copy, since a policy that changes a list would decide otherwise in the next replication.
        answer = function(view, **copy.deepcopy(dict(parameters)))
    except PolicyError:
        raise
    except (Exception, SystemExit) as error:  # a policy is foreign code: any failure of it is reported as its own
        raise PolicyError(*names, f"raised {said(error)}") from error
    if not isinstance(answer, kind):
        raise PolicyError(*names, f"returned a {type(answer).__name__}, not a {kind.__name__}")
    return answer
