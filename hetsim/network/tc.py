"""Words of a `tc` command, read from the left; problems are collected on the way."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from hetsim.errors import QdiscError, UnitError, clipped
from hetsim.lookup import did_you_mean

T = TypeVar("T")

QDISCS: Final = ("netem", "tbf")
_VERBS: Final = ("add", "change", "replace", "link")


@dataclass(frozen=True, slots=True)
class Word:
    """A word and where it stands.

    Parameters
    ----------
    text : str
        The word.
    column : int
        Counted from one.
    """

    text: str
    column: int


class Words:
    """The words of a command, read from the left; problems are collected on the way.

    Parameters
    ----------
    text : str
        The command.
    options : sequence of str
        Names of options, in the order in which `tc` compares them with an abbreviation.
    """

    def __init__(self, text: str, options: Sequence[str]) -> None:
        self.text, self.options = text, options
        self.problems: list[tuple[int, str]] = []
        self._words = [Word(match.group(), match.start() + 1) for match in re.finditer(r"\S+", text)]
        self._at = 0

    def peek(self) -> str:
        """Return the next word, or an empty text at the end."""
        return self._words[self._at].text if self._at < len(self._words) else ""

    def take(self) -> Word:
        """Return the next word and go on."""
        self._at += 1
        return self._words[self._at - 1]

    def skip(self, *texts: str) -> bool:
        """Pass the next word if it is one of these."""
        is_there = self.peek() in texts and self.peek() != ""
        self._at += is_there
        return is_there

    def is_number_next(self, *, signed: bool = False) -> bool:
        """Return whether the next word begins as a number."""
        return bool(re.match(r"[+-]?\.?\d" if signed else r"\.?\d", self.peek()))

    def option(self, word: Word) -> str:
        """Return the option that a word names or abbreviates; a problem, and an empty text, if there is none."""
        found = next((name for name in self.options if name.startswith(word.text)), "")
        if not found:
            hint = did_you_mean(word.text, self.options) or "."
            known = ", ".join(self.options)
            self.blame(word.column, f"no option {clipped(repr(word.text))}{hint} Known: {known}")
        return found

    def value(self, owner: Word, read: Callable[[str], T], wanted: str) -> T | None:
        """Return the value that must follow an option; a problem, and nothing, if it is missing or wrong."""
        text = self.peek()
        if not text or (text in self.options and not self.is_number_next(signed=True)):
            self.blame(owner.column, f"{owner.text!r} needs {wanted}")
            return None
        word = self.take()
        try:
            return read(word.text)
        except UnitError as error:
            self.blame(word.column, str(error))
            return None

    def values(self, owner: Word, readers: Iterable[tuple[Callable[[str], T], str]]) -> list[T | None]:
        """Return a value that must follow and those that may: as many as there are numbers."""
        found: list[T | None] = []
        for read, wanted in readers:
            if found and not self.is_number_next():
                break
            found.append(self.value(owner, read, wanted))
        return found

    def blame(self, column: int, message: str) -> None:
        """Add a problem."""
        self.problems.append((column, message))

    def check(self) -> None:
        """Raise all problems found so far."""
        if self.problems:
            raise QdiscError(self.text, sorted(self.problems, key=lambda problem: problem[0] or len(self.text) + 1))


def kind_of(text: str) -> str:
    """Return which qdisc a text is about.

    Parameters
    ----------
    text : str
        A whole command, one from the name of the qdisc on, or the options of netem alone.

    Returns
    -------
    str
        ``netem`` or ``tbf``.

    Raises
    ------
    QdiscError
        If it is a command about another one.

    Examples
    --------
    >>> kind_of("tc qdisc add dev eth0 root tbf rate 1mbit burst 10kb limit 1mb"), kind_of("delay 5ms")
    ('tbf', 'netem')
    """
    words = Words(text, QDISCS)
    kind = skip_head(words)
    words.check()
    return kind


def skip_head(words: Words) -> str:
    """Pass ``tc qdisc add dev eth0 root handle 1: netem``, or as much of it as there is.

    Parameters
    ----------
    words : Words
        At the beginning of the command.

    Returns
    -------
    str
        Name of the qdisc; ``netem`` where none is named.
    """
    if not words.peek():
        words.blame(0, f"the text is empty: write the options of netem, or one of {', '.join(QDISCS)}")
    is_command = words.skip("tc")
    if words.skip("qdisc"):
        if words.peek() and not words.skip(*_VERBS):
            verb = words.take()
            words.blame(verb.column, f"{clipped(repr(verb.text))} is none of {', '.join(_VERBS)}")
        is_command = True
    while is_command and words.peek() and words.peek() not in QDISCS:
        word = words.take()
        if word.text in {"dev", "parent", "handle"} and words.peek():
            words.take()
        elif word.text != "root":
            hint = did_you_mean(word.text, QDISCS) or "."
            words.blame(word.column, f"no qdisc {clipped(repr(word.text))} here{hint} Known: {', '.join(QDISCS)}")
            return QDISCS[0]
    for kind in QDISCS:
        if words.skip(kind):
            return kind
    if is_command:
        words.blame(0, f"no qdisc is named: one of {', '.join(QDISCS)}")
    return QDISCS[0]
