"""YAML text to a tree with places, on the events of PyYAML's C parser.

Plain scalars follow the core schema of YAML 1.2.2 (section 10.3): ``1e9`` is a number; ``no``, ``on`` and ``1:30``
are text. Duplicate keys and explicit tags are problems. Anchors, aliases and merge keys (``<<``) work, within a limit
on the size of what they unfold to.
"""

import re
from typing import TYPE_CHECKING, Final

import yaml

from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import MAX_DEPTH, Entry, Loc, Node, Place, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NODES: Final = 200_000
"""Values in a file after aliases are unfolded; more is taken for an alias bomb."""

_NULL: Final = {"", "~", "null", "Null", "NULL"}
_BOOL: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]{1,400}")
_BASED: Final = re.compile(r"0o[0-7]{1,400}|0x[0-9a-fA-F]{1,400}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class _RefusedError(Exception):
    """The text cannot be read on."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message, self.place = message, place


def scalar(text: str) -> Scalar:
    """Return the value of a plain scalar.

    Parameters
    ----------
    text : str
        As written, without quotes.

    Returns
    -------
    str, int, float, bool or None
        By the core schema.

    Examples
    --------
    >>> scalar("1e9"), scalar("no"), scalar("0x10"), scalar("~")
    (1000000000.0, 'no', 16, None)
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    number: Scalar = text
    if _INT.fullmatch(text):
        number = int(text)
    elif _BASED.fullmatch(text):
        number = int(text[2:], 8 if text[1] == "o" else 16)
    elif _FLOAT.fullmatch(text):
        number = float(text)
    elif _SPECIAL.fullmatch(text):
        number = float(text.replace(".", "").lower())
    return number


def read(text: str, file: str) -> tuple[Node | None, list[Problem]]:
    """Return the tree of a YAML text.

    Parameters
    ----------
    text : str
        The text.
    file : str
        Its name, for the places.

    Returns
    -------
    tree : Node or None
        None where the text is empty or is no YAML.
    problems : list of Problem
        What is wrong with the text itself.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return None, [Problem((), "not valid YAML: a character that is no text", Place(file=file))]
    builder = _Builder(text, file)
    try:
        return builder.document(), builder.problems
    except _RefusedError as error:
        return None, [*builder.problems, Problem((), error.message, error.place)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file=file, line=mark.line + 1, column=mark.column + 1) if mark else Place(file=file)
        what = " ".join(part for part in (error.context, error.problem) if part)
        if "did not find expected ','" in what and re.search(r"\w\[\w", text):
            what += "; inside {...} and [...] a field path such as 'jobs[train].workers' needs quotes"
        return None, [*builder.problems, Problem((), f"not valid YAML: {what}", place)]
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or str(error)
        return None, [*builder.problems, Problem((), f"not valid YAML: {reason}", Place(file=file))]


class _Builder:
    """Consumes the events of one text."""

    def __init__(self, text: str, file: str) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=loader)
        self._file = file
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._n_nodes = 0
        self.problems: list[Problem] = []

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _RefusedError("a second document starts here: a file holds one scenario", self._place(event))
                root = self._node(next(self._events), ())
        return root

    def _place(self, event: yaml.Event) -> Place:
        mark = event.start_mark
        assert mark is not None, event
        return Place(file=self._file, line=mark.line + 1, column=mark.column + 1)

    def _node(self, event: yaml.Event, loc: Loc) -> Node:
        if len(loc) > MAX_DEPTH:
            raise _RefusedError(f"nested more than {MAX_DEPTH} levels deep", self._place(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if not isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            raise _RefusedError("a value is missing", self._place(event))
        before = self._n_nodes
        self._count(1, event)
        if event.tag not in (None, "!"):
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            message = f"the tag {tag!r} has no meaning in a scenario: leave it out"
            self.problems.append(Problem(loc, message, self._place(event)))
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            node = self._mapping(event, loc)
        else:
            node = self._sequence(event, loc)
        if event.anchor:
            self._anchors[event.anchor] = (node, self._n_nodes - before)
        return node

    def _count(self, n: int, event: yaml.Event) -> None:
        self._n_nodes += n
        if self._n_nodes > MAX_NODES:
            raise _RefusedError(f"more than {MAX_NODES:,} values after aliases are unfolded", self._place(event))

    def _alias(self, event: yaml.AliasEvent) -> Node:
        if event.anchor not in self._anchors:
            raise _RefusedError(f"the alias *{event.anchor} names no anchor before it", self._place(event))
        node, size = self._anchors[event.anchor]
        self._count(size, event)
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        is_plain = bool(event.implicit[0]) or event.tag not in (None, "!")
        return Node(scalar(event.value) if is_plain else event.value, self._place(event))

    def _sequence(self, start: yaml.Event, loc: Loc) -> Node:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*loc, len(items))))
        return Node(tuple(items), self._place(start))

    def _mapping(self, start: yaml.Event, loc: Loc) -> Node:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            place = self._place(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise _RefusedError("a key must be plain text", place)
            key = event.value
            node = self._node(next(self._events), (*loc, key))
            if key == "<<" and event.implicit[0]:
                merged = self._merge(node, loc, place) | merged
            elif key in entries:
                first = entries[key].place.line
                message = f"duplicate key {key!r}: already written on line {first}"
                self.problems.append(Problem((*loc, key), message, place))
            else:
                entries[key] = Entry(place, node)
        return Node(entries | {key: entry for key, entry in merged.items() if key not in entries}, self._place(start))

    def _merge(self, node: Node, loc: Loc, place: Place) -> dict[str, Entry]:
        sources = node.value if isinstance(node.value, tuple) else (node,)
        merged: dict[str, Entry] = {}
        for source in sources:
            if not isinstance(source.value, dict):
                self.problems.append(Problem((*loc, "<<"), "a merge key takes a mapping, or a list of mappings", place))
                continue
            merged = source.value | merged
        return merged
