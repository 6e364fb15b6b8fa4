"""The public Python interface: load a scenario, run it, compare its points.

>>> from hetsim import compare, load, run
>>> result = run("busy-datacenter")  # doctest: +SKIP
>>> result.to_frame()  # doctest: +SKIP
>>> comparison = compare("busy-datacenter", {"jobs[0].batch": [32, 64]}, metric="samples_per_s")  # doctest: +SKIP
>>> comparison.save("results")  # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hetsim.errors import Issue, ScenarioError
from hetsim.experiment.axes import Axes, axes_of
from hetsim.experiment.comparison import Comparison
from hetsim.experiment.execute import Outcome, Progress, Setup, execute
from hetsim.experiment.fingerprint import fingerprint
from hetsim.experiment.inputs import inputs
from hetsim.experiment.measured import Measured, MeasuredRow, linear_scaling, measured_rows
from hetsim.experiment.points import compare_rows, mean_of, points_of, synchronization_of, values_of
from hetsim.experiment.result import Result, point_content
from hetsim.lookup import find
from hetsim.metrics.table import METRICS
from hetsim.model.result import Record
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.load import Scenario, load
from hetsim.scenario.paths import canonical
from hetsim.scenario.points import base_of, check_measured, check_paths, measured_job
from hetsim.scenario.problems import issues_of
from hetsim.scenario.reads import reads, unread
from hetsim.scenario.schema import MeasuredSection

__all__ = ["Comparison", "Result", "compare", "load", "run"]

Source = str | Path | Mapping[str, object] | Scenario
"""A file, the name of a shipped scenario, the content of a file, or a loaded scenario."""


def run(
    scenario: Source, *, seed: int | None = None, processes: int = 1, on_progress: Progress | None = None
) -> Result:
    """Run all replications of a scenario.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        A file, the name of a shipped scenario, the content of a file, or a loaded scenario.
    seed : int, optional
        Instead of the scenario's own.
    processes : int
        Processes that share the replications; the result is the same for any number.
    on_progress : callable, optional
        ``(done, total)``, called as replications end.

    Returns
    -------
    Result
        Record, tables and JSON.

    Raises
    ------
    ScenarioError
        If the scenario has problems; carries all of them.
    PolicyError
        If a policy cannot place or aggregate a job.
    SimulationError
        If the simulation cannot go on.
    """
    loaded = _with_seed(_loaded(scenario), seed)
    with reads() as seen:
        setup = _build(loaded)
    (outcome,) = execute([setup], processes=processes, on_progress=on_progress)
    return _result(loaded, setup, outcome, unread(loaded, seen))


def compare(
    scenario: Source,
    axes: Mapping[str, Sequence[object]] | None = None,
    *,
    metric: str | None = None,
    seed: int | None = None,
    processes: int = 1,
    on_progress: Progress | None = None,
) -> Comparison:
    """Run a scenario at every combination of some values, with the same random draws at each.

    A scenario that has measured values and no values to try is run at the points of its measurements.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        A file, the name of a shipped scenario, the content of a file, or a loaded scenario.
    axes : mapping of str to sequence, optional
        Values to try by field path, instead of the scenario's own ``compare:`` section. However a path is spelt, the
        labels of the comparison name items of lists by their names.
    metric : str, optional
        What to compare, a name of `hetsim.metrics.table.METRICS`. Left out: what was measured; or the time to accuracy
        where points differ in synchronization and it is known; else the training time.
    seed : int, optional
        Instead of the scenario's own.
    processes : int
        Processes that share the replications; the result is the same for any number.
    on_progress : callable, optional
        ``(done, total)``, called as replications end.

    Returns
    -------
    Comparison
        Rows, tables, JSON, and the result of each point.

    Raises
    ------
    ScenarioError
        If the scenario, a path or a value has problems, or there is nothing to compare.
    UnknownNameError
        If there is no such metric.
    PolicyError
        If a policy cannot place or aggregate a job.
    SimulationError
        If the simulation cannot go on.
    """
    loaded = _loaded(scenario)
    chosen, measured = _axes(loaded, axes)
    wanted = metric or (measured.metric if measured else "")
    if wanted:
        find(METRICS, wanted, "metric")
    points = measured.points if measured else points_of(chosen)
    if seed is not None and "seed" in points[0]:
        raise ScenarioError([Issue(path="seed", message="the points have seeds of their own: leave the other one out")])
    base = loaded.with_values({} if seed is None else {"seed": seed})
    scenarios = _at_points(base, points)
    with reads() as seen:
        setups = [_build(point) for point in scenarios]
    outcomes = execute(setups, processes=processes, on_progress=on_progress)
    records = [outcome.record for outcome in outcomes]
    metric = wanted or _usual_metric(records)
    rows = compare_rows(points, records, metric)
    is_measured = measured is not None and metric == measured.metric
    content = {"scenario": point_content(base), "points": list(points), "metric": metric}
    results = zip(scenarios, setups, outcomes, strict=True)
    return Comparison(
        scenario=base,
        metric=metric,
        axes=chosen,
        points=points,
        results=tuple(_result(point, setup, outcome, unread(point, seen)) for point, setup, outcome in results),
        rows=rows,
        fingerprint=fingerprint(content, setups),
        unread=tuple(unread(base, seen)),
        source=measured.source if measured else "",
        scale=measured.scale if measured else "",
        measured=_held_against(measured, scenarios, outcomes) if measured and is_measured else (),
        measured_job=scenarios[0].document.jobs[measured.job].name if measured else "",
    )


def _usual_metric(records: Sequence[Record]) -> str:
    """Return what records are compared by if nobody says: by samples only where every sample is worth the same."""
    runs = [run for record in records for run in record.jobs]
    kinds: dict[str, set[str]] = {}
    for run in runs:
        kinds.setdefault(run.job, set()).add(synchronization_of(run))
    differ = any(len(kind) > 1 for kind in kinds.values())
    return "time_to_accuracy_s" if differ and all(run.efficiency for run in runs) else "train_time_s"


def _loaded(scenario: Source) -> Scenario:
    return scenario if isinstance(scenario, Scenario) else load(scenario)


def _with_seed(scenario: Scenario, seed: int | None) -> Scenario:
    return scenario if seed is None else scenario.with_values({"seed": seed})


def _build(scenario: Scenario) -> Setup:
    return Setup(
        name=scenario.name,
        cluster=build_cluster(scenario),
        jobs=build_jobs(scenario),
        seed=scenario.seed,
        n_replications=scenario.replications,
        engine=scenario.engine,
    )


def _result(scenario: Scenario, setup: Setup, outcome: Outcome, never_read: Sequence[str]) -> Result:
    return Result(
        scenario=scenario,
        setup=setup,
        record=outcome.record,
        fingerprint=fingerprint(point_content(scenario), [setup]),
        choices=outcome.choices,
        warnings=outcome.warnings,
        inputs=inputs(setup, outcome.record),
        unread=tuple(never_read),
    )


def _axes(scenario: Scenario, axes: Mapping[str, Sequence[object]] | None) -> tuple[Axes, Measured | None]:
    """Return the values to try, or the measurements of a scenario that tries none."""
    chosen = axes_of(scenario, (scenario.axes if axes is None else axes).items())
    if chosen:
        return chosen, None
    if scenario.measured is not None:
        return {}, _measurements(scenario, scenario.measured)
    example = "'jobs[0].placement.policy': [default-tensorflow, infrastructure-aware]"
    text = (
        "nothing to compare: add a section to the scenario, such as 'compare: {" + example + "}', or give axes, "
        "such as --axis jobs[0].placement.policy=default-tensorflow,infrastructure-aware"
    )
    raise ScenarioError([Issue(path="compare", message=text)])


def _measurements(scenario: Scenario, section: MeasuredSection) -> Measured:
    """Return the measurements; a scenario that was loaded for a run alone has not had them checked."""
    tree, base = scenario.tree, base_of(scenario.tree)
    problems = list(check_paths(tree)) or list(check_measured(tree))
    if problems:
        raise ScenarioError(issues_of(tree, problems))
    fields = [canonical(base, field) for field in section.fields]
    measured = Measured(
        metric=section.metric,
        source=section.source,
        scale=canonical(base, section.scale),
        points=tuple(dict(zip(fields, row[:-1], strict=True)) for row in section.rows),
        values=tuple(float(str(row[-1])) for row in section.rows),
        job=measured_job(tree) or 0,
    )
    # What it cannot scale is known before anything has run.
    linear_scaling(measured)
    return measured


def _held_against(
    measured: Measured, scenarios: Sequence[Scenario], outcomes: Sequence[Outcome]
) -> tuple[MeasuredRow, ...]:
    names = [point.document.jobs[measured.job].name for point in scenarios]
    results = zip(names, outcomes, strict=True)
    values = [values_of(outcome.record, name, measured.metric) for name, outcome in results]
    return measured_rows(measured, [mean_of(each).value for each in values])


def _at_points(base: Scenario, points: Sequence[Mapping[str, object]]) -> list[Scenario]:
    """Return the scenario of each point, or report the problems of all points at once."""
    scenarios: list[Scenario] = []
    issues: list[Issue] = []
    for point in points:
        try:
            scenarios.append(base.with_values(point))
        except ScenarioError as error:
            issues += error.issues
    if issues:
        raise ScenarioError(tuple(dict.fromkeys(issues)))
    return scenarios
