"""Tables for a terminal, to be understood without the source."""

from collections.abc import Mapping, Sequence

from tabulate import tabulate

from hetsim.experiment.comparison import Comparison
from hetsim.experiment.inputs import STEP_TIME, Input, count_by_basis
from hetsim.experiment.points import JOB, ComparisonRow, is_decision, label_text
from hetsim.experiment.result import Result, placements
from hetsim.experiment.statistics import Estimate, mean_interval
from hetsim.metrics.table import METRICS, number_of
from hetsim.model.aggregation import Group
from hetsim.model.job import Job
from hetsim.model.result import JobRun
from hetsim.model.workload import Model
from hetsim.report.labels import axis_names, metric_label, number, replications, with_interval
from hetsim.units import format_si

_SHOWN_DEVICES = 16
_SHOWN_PLACEMENTS = 3
_STEP_COLUMNS = {
    "step time": "step_time_mean_s",
    "compute": "compute_s",
    "straggler wait": "wait_s",
    "exposed": "exposed_s",
}


def comparison_table(comparison: Comparison) -> str:
    """Return a comparison as text: the mean of the metric and the speed-up at each point, with their intervals.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    str
        A title, one line for each point and job, and a legend.
    """
    metric = METRICS[comparison.metric]
    label = metric_label(comparison.metric, metric)
    names = axis_names(tuple(comparison.rows[0].labels))
    # Rows that are compared stand together, whatever the order of the axes.
    paths = sorted(names, key=is_decision)
    conditions = [[label_text(row.labels[path]) for path in paths if not is_decision(path)] for row in comparison.rows]
    has_decision = any(is_decision(path) for path in paths)
    order = sorted(range(len(conditions)), key=lambda i: conditions.index(conditions[i]) if has_decision else i)
    header = [*(names[path] for path in paths), label, "speed-up", ""]
    rows = [_comparison_cells(comparison.rows[i], paths) for i in order]
    counts = [row.n for row in comparison.rows]
    seed = f"seed {comparison.seeds[0]}" if len(comparison.seeds) == 1 else "seeds as below"
    parts = [
        f"{comparison.scenario.name}: {label}, {metric.better} is better; {replications(counts)}, {seed}",
        grid(header, rows),
        _comparison_legend(comparison),
        "\n".join(_where(comparison, names)),
    ]
    return "\n\n".join(parts) + footer(comparison.inputs, comparison.unread, comparison.warnings)


def _where(comparison: Comparison, names: Mapping[str, str]) -> list[str]:
    """Return where each point ran; points that ran in the same place stand together."""
    found: dict[str, list[str]] = {}
    for labels, result in zip(comparison.points, comparison.results, strict=True):
        text = ", ".join(_named(names[path], value) for path, value in labels.items())
        for line in _placement_lines(result):
            found.setdefault(line, []).append(text)
    lines = []
    for line, points in found.items():
        n = len(comparison.points)
        who = "all points" if len(points) == n else "; ".join(dict.fromkeys(points))
        lines.append(f"{who}: {line}")
    return lines


def _named(name: str, value: object) -> str:
    return value if isinstance(value, str) else f"{name} {label_text(value)}"


def _comparison_cells(row: ComparisonRow, paths: Sequence[str]) -> list[str]:
    labels = [label_text(row.labels[path]) for path in paths]
    return [*labels, with_interval(row.mean, row.ci_low, row.ci_high), *_verdict(row)]


def _verdict(row: ComparisonRow) -> tuple[str, str]:
    if row.is_baseline:
        return "1x", "baseline"
    if not row.is_comparable:
        return "-", "other synchronization"
    if row.speedup is None:
        return "-", "no ratio: a value is zero"
    text = with_interval(row.speedup, row.speedup_ci_low, row.speedup_ci_high, "x")
    marks = {None: "one replication", True: "", False: "not significant"}
    return text, marks[row.significant]


def _comparison_legend(comparison: Comparison) -> str:
    labels = comparison.rows[0].labels
    against = "the first row"
    if any(is_decision(path) for path in labels):
        conditions = [name for path, name in axis_names(tuple(labels)).items() if not is_decision(path)]
        against = f"the baseline with the same {', '.join(conditions)}" if conditions else "the baseline"
    elif JOB in labels:
        against = "the first row of the same job"
    lines = [f"Speed-up: how many times better than {against}; above 1 is an improvement."]
    if any(not row.is_comparable for row in comparison.rows):
        lines.append("other synchronization: its samples are worth more or less, so no winner is named on them alone;")
        lines.append("--metric time_to_accuracy_s compares what they are worth, where a job says it (convergence).")
    if comparison.metric == "time_to_accuracy_s":
        lines += _assumptions(comparison)
    if not _is_same_work(comparison):
        lines.append("The points train on different numbers of samples: --metric samples_per_s compares their rates.")
    if max(row.n for row in comparison.rows) == 1:
        lines.append("One replication says nothing of the spread: --replications 10 gives intervals.")
    else:
        is_paired = len(comparison.seeds) == 1
        draws = "share their random draws and are paired" if is_paired else "share no random draws across seeds"
        lines.append(f"[low, high]: 95 % interval over replications, which {draws}.")
        lines.append("not significant: the interval of the speed-up holds 1.")
    return "\n".join(lines)


def _assumptions(comparison: Comparison) -> list[str]:
    """Return the model by which times to accuracy are made, with the figures of each job."""
    lines = [
        "Time to accuracy = updates at the batch and staleness of the run, over updates per second. Assumed of them:",
        "min_steps * (1 + delay_factor * staleness ** delay_exponent) + min_steps * noise_batch / batch of an update.",
    ]
    jobs = {job.name: job.convergence for result in comparison.results for job in result.setup.jobs}
    for name, each in sorted(jobs.items()):
        if each is not None:
            figures = (each.min_steps, each.noise_batch, each.delay_factor, each.delay_exponent)
            keys = ("min_steps", "noise_batch", "delay_factor", "delay_exponent")
            text = ", ".join(f"{key} {value:.6g}" for key, value in zip(keys, figures, strict=True))
            lines.append(f"  {name}: {text}, to {each.target} ({each.basis})")
    return lines


def _is_same_work(comparison: Comparison) -> bool:
    """Return whether every point trains on as many samples, or the metric is a rate."""
    jobs = [result.setup.jobs for result in comparison.results]
    amounts = {tuple(job.n_steps * job.n_workers * job.batch for job in some) for some in jobs}
    return len(amounts) == 1 or comparison.metric != "train_time_s"


def run_table(result: Result) -> str:
    """Return a run as text: how long training took, where the time went and where the workers ran.

    Parameters
    ----------
    result : Result
        The result.

    Returns
    -------
    str
        A title, one line for each job, the placements, what the result rests on, and a legend.
    """
    jobs = {job.name: [run for run in result.record.jobs if run.job == job.name] for job in result.setup.jobs}
    header = ["job", "train time", "samples/s", *_STEP_COLUMNS]
    rows = [[name, *_job_cells(runs)] for name, runs in jobs.items()]
    n = result.setup.n_replications
    parts = [
        f"{result.scenario.name}: {replications([n])}, seed {result.setup.seed}",
        grid(header, rows),
        _run_legend(n),
        "\n".join(_describe(job) for job in result.setup.jobs),
        "\n".join(_placement_lines(result)),
    ]
    return "\n\n".join(parts) + footer(result.inputs, result.unread, result.warnings, detailed=True)


def _job_cells(runs: Sequence[JobRun]) -> list[str]:
    time = _estimate(runs, "train_time_s")
    samples = _estimate(runs, "samples_per_s")
    spread = "" if time.high is None else f" +- {format_si(time.high - time.value, 's')}"
    parts = [format_si(_estimate(runs, metric).value, "s") for metric in _STEP_COLUMNS.values()]
    return [format_si(time.value, "s") + spread, number(samples.value), *parts]


def _estimate(runs: Sequence[JobRun], metric: str) -> Estimate:
    return mean_interval([number_of(run, metric) for run in runs], least=0.0)


def _run_legend(n: int) -> str:
    lines = [
        "Step time = compute + straggler wait (until the last worker ends its compute, which one that waits for slow",
        "parameters begins late) + exposed (communication, latency and server time that no compute hides); means over",
        "workers and steps" + (", and the 95 % interval of the train time." if n > 1 else "."),
    ]
    return "\n".join(lines)


def _describe(job: Job) -> str:
    name = job.workload.name if isinstance(job.workload, Model) else "given compute times"
    batch = f", batch {job.batch} each" if isinstance(job.workload, Model) else ""
    amount = f"{job.n_workers} workers{batch}, {job.n_steps} steps, {format_si(job.gradient_bytes, 'B')} of gradients"
    aggregation = "by a given tree" if isinstance(job.aggregation, Group) else job.aggregation.policy
    return f"{job.name}: {name}, {amount}; placement {job.placement.policy}, aggregation {aggregation}"


def _placement_lines(result: Result) -> list[str]:
    lines = []
    for job in result.setup.jobs:
        found = [place for place in placements(result.record) if place["job"] == job.name]
        found.sort(key=lambda place: -len(_list(place["replications"])))
        for place in found[:_SHOWN_PLACEMENTS]:
            workers, servers = _shown(_list(place["workers"])), _shown(_list(place["servers"]))
            times = f" ({len(_list(place['replications']))} of {result.setup.n_replications} replications)"
            where = f"{workers}; servers on {servers}" if servers else workers
            lines.append(f"{job.name} ran on {where}{times if len(found) > 1 else ''}")
        if len(found) > _SHOWN_PLACEMENTS:
            lines.append(f"{job.name} ran in {len(found) - _SHOWN_PLACEMENTS} more places: see manifest.json")
    return lines


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _shown(names: Sequence[object]) -> str:
    text = ", ".join(str(name) for name in names[:_SHOWN_DEVICES])
    return text if len(names) <= _SHOWN_DEVICES else f"{text} and {len(names) - _SHOWN_DEVICES} more"


def footer(
    inputs: Sequence[Input], unread: Sequence[str], warnings: Sequence[str] = (), *, detailed: bool = False
) -> str:
    """Return what a table rests on, and what was written in vain.

    Parameters
    ----------
    inputs : sequence of Input
        What the results rest on.
    unread : sequence of str
        Fields never read.
    warnings : sequence of str
        What the user should know.
    detailed : bool
        Whether to list every input, or only how many there are of each basis.

    Returns
    -------
    str
        Begins with an empty line.
    """
    counts = ", ".join(f"{n} {basis}" for basis, n in count_by_basis(inputs).items())
    lines = ["", f"Inputs: {counts} (manifest.json names method and source of each)"]
    if not detailed:
        guessed = [item for item in inputs if item.input.startswith(STEP_TIME) and item.basis != "measured"]
        lines += [f"  {item.basis} {item.input} ({item.method})" for item in guessed]
    if detailed:
        lines += ["  " + line for line in grid([], [[item.basis, item.input] for item in inputs]).splitlines()]
    lines += [f"Warning: {warning}" for warning in warnings]
    if unread:
        lines.append(f"Written in the scenario but never read: {', '.join(unread)}")
    return "\n" + "\n".join(lines)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return cells as an aligned table.

    Parameters
    ----------
    header : sequence of str
        Names of the columns; none for a plain list.
    rows : sequence of sequence of str
        Cells.

    Returns
    -------
    str
        Lines.
    """
    # Texts are laid out as they are: tabulate must not read '1e3' or '007' as numbers.
    style = "simple" if header else "plain"
    return tabulate(rows, headers=header, tablefmt=style, disable_numparse=True)
