"""pytest plug-in: the fixture `hetsim_golden` pins simulated numbers in a test, and says why one moved.

A test calls the fixture with a result, a comparison, or numbers of its own::

    def test_my_cluster(hetsim_golden):
        hetsim_golden(hetsim.run("busy-datacenter"))

``pytest --hetsim-update`` writes them to ``golden/<module>/<test>.json`` beside the test module. From then on the test
fails when a number differs by more than ``--hetsim-rtol``, and names the part of a step that explains it.
"""

import json
import math
import os
import re
import shlex
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import pytest

if TYPE_CHECKING:
    from hetsim.experiment.comparison import Comparison
    from hetsim.model.result import JobRun

Leaf = float | str | None
Leaves = dict[tuple[str, ...], Leaf]

RTOL: Final = 1e-9
"""Numbers differ by less between machines whose mathematical libraries differ, and by nothing on one machine."""

_WHOLE: Final = "step_time_mean_s"
_PARTS: Final = {"compute": "compute_s", "wait": "wait_s", "communication": "exposed_s"}
"""These add up to the mean step time (`hetsim.metrics.breakdown`)."""

_PINNED: Final = ("train_time_s", _WHOLE, "step_time_p95_s", *_PARTS.values(), "communication_s")
"""A fixed list, so that a new metric does not invalidate goldens."""

_COMPARED: Final = ("mean", "ci_low", "ci_high", "speedup", "speedup_ci_low", "speedup_ci_high")

_SHOWN: Final = 20
_EXPLAINED: Final = 5
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    path: tuple[str, ...]
    old: str
    new: str
    relative: float


class Golden:
    """What the fixture `hetsim_golden` gives to a test: call it with what is to be pinned.

    Parameters
    ----------
    folder : Path
        Where this module's goldens are.
    test : str
        Name of the test, its parameters included.
    command : str
        What to run to take new numbers.
    is_update : bool
        Whether goldens are written.
    rtol : float
        Relative difference from which on a number has moved.
    """

    def __init__(self, folder: Path, test: str, command: str, *, is_update: bool, rtol: float) -> None:
        self.written: list[str] = []
        self._folder, self._test, self._command = folder, test, command
        self._is_update, self._rtol = is_update, rtol
        self._used: set[Path] = set()

    def __call__(self, value: object, *, name: str = "", rtol: float | None = None) -> None:
        """Hold a value against its golden, or write it if pytest was asked to.

        The parts of a step (compute, wait, communication) have moved when they differ by more than `rtol` of the step.

        Parameters
        ----------
        value : Result, Comparison, or mapping, sequence or array of numbers, texts and None
            What is pinned; mappings and sequences may be nested. Of a result: placement, times and parts of a step for
            each job and replication. Of a comparison: its rows, and the mean times and parts of a step for each.
        name : str
            Tells several goldens of one test apart.
        rtol : float, optional
            In place of ``--hetsim-rtol``.

        Raises
        ------
        TypeError, ValueError
            If the value is none of these, empty, or holds a number that is not finite; if the name was used before.
        Failed
            If there is no golden, or it differs.
        """
        __tracebackhide__ = True
        path = self._path(name)
        about, values = _content(value)
        leaves = dict(_leaves(values))
        if not leaves:
            raise ValueError("hetsim_golden has nothing to pin")
        stored = None if self._is_update and not path.exists() else self._read(path)
        if stored is None:
            self._write(path, about, values, "new")
            return
        old_about, old = stored
        changes = _changes(old, leaves, self._rtol if rtol is None else rtol)
        if self._is_update and (changes or about != old_about):
            self._write(path, about, values, f"{len(changes)} of {len(leaves)} values moved")
        elif changes:
            lines = [f"{path}: {len(changes)} of {len(leaves)} values moved", *_table(changes)]
            lines += [*_reasons(old, leaves, changes), *_origin(old_about, about), f"to take the new: {self._command}"]
            pytest.fail("\n".join(lines), pytrace=False)

    def _path(self, name: str) -> Path:
        path = self._folder / f"{_file_name(f'{self._test}.{name}' if name else self._test)}.json"
        if path in self._used:
            raise ValueError(f"hetsim_golden was called before with name={name!r}: give each golden of a test a name")
        self._used.add(path)
        return path

    def _read(self, path: Path) -> tuple[object, Leaves]:
        __tracebackhide__ = True
        try:
            content = json.loads(path.read_bytes())
            return content.get("about", {}), dict(_leaves(content["values"]))
        except FileNotFoundError:
            reason = f"there is no golden {path}"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{path} is not a golden ({type(error).__name__}: {error}): delete it or mend it"
        pytest.fail(f"{reason}; to write it: {self._command}", pytrace=False)

    def _write(self, path: Path, about: object, values: object, what: str) -> None:
        content = ({"about": about} if about else {}) | {"values": values}
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            fresh.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8", newline="\n")
            os.replace(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)
        self.written.append(f"{path}: {what}")


def _file_name(test: str) -> str:
    """Return a name that every file system takes; what is lost of the test's name is told apart by a checksum."""
    safe = re.sub(r"[^\w.,=+@\[\]-]", "-", test)[:_LONGEST_NAME]
    return safe if safe == test else f"{safe}-{zlib.crc32(test.encode()):08x}"


def _content(value: object) -> tuple[dict[str, str], object]:
    """Return where the numbers come from, and the numbers as JSON takes them."""
    if isinstance(value, Mapping | list | tuple | int | float | str) or hasattr(value, "tolist"):
        return {}, _plain(value)
    from hetsim.experiment.comparison import Comparison
    from hetsim.experiment.result import Result

    if isinstance(value, Result):
        runs = value.record.jobs
        return {"fingerprint": value.fingerprint}, {
            f"{run.job}, replication {run.replication}": _of(run) for run in runs
        }
    if isinstance(value, Comparison):
        return {"fingerprint": value.fingerprint}, dict(_points(value))
    raise TypeError(f"hetsim_golden pins a Result, a Comparison, numbers and texts, not {type(value).__name__}")


def _plain(value: object) -> object:
    value = cast("object", value.tolist()) if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int | float | str | None):
        return value
    raise TypeError(f"hetsim_golden pins numbers and texts, not {type(value).__name__}: {value!r}")


def _of(run: "JobRun") -> dict[str, object]:
    from hetsim.metrics.table import number_of

    return _where([run]) | {metric: number_of(run, metric) for metric in _PINNED}


def _where(runs: "Sequence[JobRun]") -> dict[str, object]:
    """Return the placements that replications had, each once."""
    return {
        role: " | ".join(dict.fromkeys(";".join(getattr(run.placement, role)) for run in runs))
        for role in ("workers", "servers")
    }


def _points(comparison: "Comparison") -> Iterator[tuple[str, dict[str, object]]]:
    from hetsim.metrics.table import number_of

    rows = iter(comparison.rows)
    for result in comparison.results:
        for job in dict.fromkeys(run.job for run in result.record.jobs):
            row = next(rows)
            runs = [run for run in result.record.jobs if run.job == job]
            means = {name: math.fsum(number_of(run, name) for run in runs) / len(runs) for name in _PINNED}
            label = ", ".join(f"{path}={value}" for path, value in row.labels.items())
            numbers = {f"{name} of {comparison.metric}": row.numbers()[name] for name in _COMPARED}
            yield label, _where(runs) | {name: value for name, value in numbers.items() if value is not None} | means


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, str(index)))
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"hetsim_golden pins finite numbers only: {': '.join(path) or 'it'} is {value}")
    else:
        yield path, cast("Leaf", value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _changes(old: Leaves, new: Leaves, rtol: float) -> list[_Change]:
    """Return what moved, the largest first; texts and what came or went before all numbers."""
    found = []
    for path in old | new:
        a, b = old.get(path), new.get(path)
        if path in old and path in new and _is_number(a) and _is_number(b):
            a, b = cast("float", a), cast("float", b)
            whole = new.get((*path[:-1], _WHOLE)) if path and path[-1] in _PARTS.values() else None
            scale = max(abs(a), abs(b), abs(cast("float", whole)) if _is_number(whole) else 0.0)
            if abs(b - a) > rtol * scale:
                relative = (b - a) / abs(a) if a else math.copysign(math.inf, b)
                found.append(_Change(path=path, old=f"{a:.12g}", new=f"{b:.12g}", relative=relative))
        elif path not in old or path not in new or type(a) is not type(b) or a != b:
            texts = [json.dumps(side[path], ensure_ascii=False) if path in side else "absent" for side in (old, new)]
            found.append(_Change(path=path, old=texts[0], new=texts[1], relative=math.nan))
    return sorted(found, key=lambda change: -math.inf if math.isnan(change.relative) else -abs(change.relative))


def _table(changes: list[_Change]) -> list[str]:
    cells = [("value", "golden", "now", "relative")]
    for change in changes[:_SHOWN]:
        relative = "" if math.isnan(change.relative) else f"{100 * change.relative:+.3g} %"
        cells.append((": ".join(change.path) or "it", change.old, change.new, relative))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return [*lines, f"and {len(changes) - _SHOWN} more"] if len(changes) > _SHOWN else lines


def _reasons(old: Leaves, new: Leaves, changes: list[_Change]) -> list[str]:
    """Return a line for each of the steps that moved most: how much, and which part of it."""
    rows = dict.fromkeys(change.path[:-1] for change in changes if change.path)
    found = []
    for row in rows:
        before, after = ([side.get((*row, name)) for name in (_WHOLE, *_PARTS.values())] for side in (old, new))
        if not all(map(_is_number, before + after)):
            continue
        moved = [cast("float", b) - cast("float", a) for a, b in zip(before, after, strict=True)]
        parts = dict(zip(_PARTS, moved[1:], strict=True))
        if any(parts.values()):
            most = max(parts, key=lambda part: abs(parts[part]))
            split = ", ".join(f"{part} {delta:+.3g} s" for part, delta in parts.items())
            found.append((moved[0], f"why: {': '.join(row) or 'it'}: a step {moved[0]:+.3g} s: {split}; mostly {most}"))
    found.sort(key=lambda reason: -abs(reason[0]))
    return [line for _, line in found[:_EXPLAINED]]


def _origin(old: object, new: Mapping[str, str]) -> list[str]:
    mark, before = new.get("fingerprint"), old.get("fingerprint") if isinstance(old, dict) else None
    if mark is None or before is None:
        return []
    if mark == before:
        return [f"why: scenario, catalog rows and model version are the same ({mark}): the code moved it"]
    return [f"why: the scenario, its catalog rows or the model version changed ({before}, now {mark})"]


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{text} is not a relative difference from 0 to 1")
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in.

    Parameters
    ----------
    parser : pytest.Parser
        Of the command line.
    """
    group = parser.getgroup("hetsim", "simulated numbers pinned with hetsim_golden")
    group.addoption("--hetsim-update", action="store_true", help="write goldens that are missing or no longer hold")
    group.addoption("--hetsim-rtol", type=_tolerance, default=RTOL, help=f"relative tolerance (default {RTOL:g})")


@pytest.fixture
def hetsim_golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    """Pin simulated numbers: call it with a result, a comparison or numbers of your own.

    Parameters
    ----------
    request : pytest.FixtureRequest
        Of the test.

    Yields
    ------
    Golden
        Call it.
    """
    node, config = request.node, request.config
    golden = Golden(
        request.path.parent / "golden" / request.path.stem,
        node.nodeid.partition("::")[2].replace("::", ".") or node.name,
        f"pytest --hetsim-update {shlex.quote(node.nodeid)}",
        is_update=config.getoption("hetsim_update"),
        rtol=config.getoption("hetsim_rtol"),
    )
    yield golden
    node.user_properties += [("hetsim_golden", line) for line in golden.written]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the goldens that were written.

    Parameters
    ----------
    terminalreporter : pytest.TerminalReporter
        Where to.
    """
    if not terminalreporter.config.getoption("hetsim_update"):
        return
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    written = {
        value for report in reports for key, value in getattr(report, "user_properties", ()) if key == "hetsim_golden"
    }
    terminalreporter.section("hetsim goldens written")
    for line in sorted(written) or ["none"]:
        terminalreporter.write_line(line)
