"""Load a scenario: a file, the name of a shipped one, or a mapping; every problem is reported at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from hetsim.errors import Issue, ScenarioError, clipped
from hetsim.lookup import unknown
from hetsim.scenario import policies
from hetsim.scenario.fields import Section, shown
from hetsim.scenario.groups import GroupSection, canonical
from hetsim.scenario.parts import mapping
from hetsim.scenario.paths import apply_overrides, set_values
from hetsim.scenario.points import base_of, check_paths, check_points
from hetsim.scenario.problems import Problem, issues_of
from hetsim.scenario.reads import unrecorded
from hetsim.scenario.schema import MeasuredSection, ScenarioFile
from hetsim.scenario.tree import Loc, Node, Place, UnfitValueError, from_python, render, to_python
from hetsim.scenario.validate import validate
from hetsim.scenario.yaml_source import read

MAX_FILE_BYTES: Final = 4 * 2**20
"""A larger file is no scenario that a person wrote."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario without problems.

    Parameters
    ----------
    document : ScenarioFile
        Its fields, in SI units, with defaults.
    tree : Node
        What was written, overrides included.
    """

    document: ScenarioFile
    tree: Node

    @property
    def name(self) -> str:
        """Names the folder of the results."""
        return self.document.name

    @property
    def description(self) -> str:
        """For people."""
        return self.document.description

    @property
    def seed(self) -> int:
        """Key of all random draws."""
        return self.document.seed

    @property
    def replications(self) -> int:
        """How often everything is drawn anew."""
        return self.document.replications

    @property
    def engine(self) -> str:
        """Executor: simpy, kernel or auto."""
        return self.document.engine

    @property
    def measured(self) -> MeasuredSection | None:
        """Published or measured values to hold the simulated ones against."""
        return self.document.measured

    @property
    def axes(self) -> Mapping[str, list[Any]]:
        """The axes of ``compare``: field path to the values to try, as written."""
        return cast("dict[str, list[Any]]", mapping(to_python(self.tree), "compare"))

    def resolved(self) -> dict[str, Any]:
        """Return every field after defaults and overrides, in a canonical form that is itself a valid scenario.

        Returns
        -------
        dict
            JSON-able; quantities are texts in SI units, whatever they were written in.
        """
        with unrecorded():
            dumped = self.document.model_dump(mode="json", exclude_none=True)
            trees = {
                index: canonical(job.aggregation, job.servers)
                for index, job in enumerate(self.document.jobs)
                if isinstance(job.aggregation, GroupSection)
            }
        for index, job in enumerate(dumped["jobs"]):
            for key in policies.FAMILIES:
                if key == "aggregation" and index in trees:
                    job[key] = trees[index]
                    continue
                parameters, _ = policies.check(key, job[key], self.tree, ("jobs", index, key))
                job[key] = {"policy": job[key]["policy"], **parameters}
        if not dumped["compare"]:
            del dumped["compare"]
        return dumped

    def with_values(self, values: Mapping[str, object]) -> "Scenario":
        """Return the scenario with other values: one point of a comparison.

        Parameters
        ----------
        values : mapping of str to object
            Field path to value, as a file would write it.

        Returns
        -------
        Scenario
            Without axes.

        Raises
        ------
        ScenarioError
            If a path leads to no field, or the result has a problem.
        """
        try:
            nodes = [
                (path, from_python(value, Place(file=f"{path}={clipped(str(value))}")))
                for path, value in values.items()
            ]
        except UnfitValueError as error:
            raise ScenarioError([Issue(path="", message=str(error))]) from None
        return _validated(set_values(base_of(self.tree), nodes))


def load(source: str | Path | Mapping[str, Any], overrides: Sequence[str] = (), *, points: bool = True) -> Scenario:
    """Load a scenario.

    Parameters
    ----------
    source : str, Path or mapping
        A file; the name of a shipped scenario, such as ``busy-datacenter``, where there is no such file; or the content
        of a file as Python objects.
    overrides : sequence of str
        Such as ``jobs[train].workers=8``; the value is YAML.
    points : bool
        Whether the points that the scenario compares are checked too; a single run needs none of them.

    Returns
    -------
    Scenario
        Without problems.

    Raises
    ------
    ScenarioError
        With every problem found, in the order of the file.
    """
    with unrecorded():
        tree, problems = _from_mapping(source) if isinstance(source, Mapping) else _from_file(source)
        if problems and not (tree and isinstance(tree.value, dict)):
            raise ScenarioError(issues_of(tree or Node(None, Place(file=_label(source))), problems))
        tree = apply_overrides(_checked_root(tree, _label(source)), overrides)
        return _validated(tree, problems, points=points)


def shipped() -> dict[str, Path]:
    """Return the scenarios that come with hetsim.

    Returns
    -------
    dict of str to Path
        By name, in alphabetical order.
    """
    package = Path(__file__).parent.parent
    folder = package / "_scenarios"
    if not folder.is_dir():
        folder = package.parent / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _label(source: object) -> str:
    return "scenario" if isinstance(source, Mapping) else str(source)


def _from_mapping(source: Mapping[str, Any]) -> tuple[Node | None, list[Problem]]:
    place = Place(file=_label(source))
    try:
        return from_python(source, place), []
    except UnfitValueError as error:
        return None, [Problem((), str(error), place)]


def _from_file(source: str | Path) -> tuple[Node | None, list[Problem]]:
    label = _label(source)
    try:
        raw = _path(source).read_bytes()
        if len(raw) > MAX_FILE_BYTES:
            return None, [Problem((), f"larger than {MAX_FILE_BYTES // 2**20} MiB", Place(file=label))]
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        place = Place(file=label, line=before.count(b"\n") + 1, column=error.start - before.rfind(b"\n"))
        return None, [Problem((), f"not UTF-8: byte 0x{error.object[error.start]:02x}", place)]
    except FileNotFoundError:
        return None, [Problem((), f"no such file; {unknown('shipped scenario', label, shipped())}", Place(file=label))]
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return None, [Problem((), f"cannot be read: {reason}", Place(file=label))]
    return read(text, label)


def _path(source: str | Path) -> Path:
    path = Path(source)
    return path if path.is_file() else shipped().get(str(source), path)


def _checked_root(tree: Node | None, label: str) -> Node:
    if tree is None or tree.value is None:
        raise ScenarioError([Issue(path="", message="the file is empty: a scenario has cluster and jobs", file=label)])
    if not isinstance(tree.value, dict):
        message = f"a scenario is a mapping of keys to values, not {shown(to_python(tree))}"
        raise ScenarioError(issues_of(tree, [Problem((), message)]))
    return tree


def _validated(tree: Node, problems: Sequence[Problem] = (), *, points: bool = True) -> Scenario:
    with unrecorded():
        document, found = validate(tree)
        found = [*problems, *found]
        if points:
            found += check_paths(tree)
        if points and not found:
            found = list(check_points(tree))
    if found or document is None:
        raise ScenarioError(issues_of(tree, found))
    _locate(document, tree, ())
    return Scenario(document, tree)


def _locate(section: Section, tree: Node, loc: Loc) -> None:
    """Tell each section its dotted path, by which reads are recorded."""
    section.locate(render(tree, loc))
    for name, value in section:
        if isinstance(value, Section):
            _locate(value, tree, (*loc, name))
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, Section):
                    _locate(item, tree, (*loc, name, index))
