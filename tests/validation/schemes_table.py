"""Print the README's table of schemes: ``python tests/validation/schemes_table.py`` (a minute or two)."""

import sys
from typing import Final

from hetsim import compare, load
from hetsim.experiment.comparison import Comparison
from hetsim.metrics.table import number_of

SCENARIO: Final = "schemes"

CLUSTERS: Final = {
    "equal and fast": [],
    "two speeds": ["cluster.hosts[b].background.gpu=0.5"],
    "slow uplinks": ["cluster.topology.uplink=1 Gbit/s"],
    "jittery": ["jobs[train].jitter.cv=0.5"],
}

COLUMNS: Final = ("samples_per_s", "time_to_accuracy_s", "staleness_mean")


def compared(overrides: list[str]) -> Comparison:
    """Every scheme on one cluster."""
    return compare(load(SCENARIO, overrides))


def name_of(aggregation: dict[str, object]) -> str:
    """A scheme as its scenario says it, without its braces."""
    rest = ", ".join(f"{key} {value}" for key, value in aggregation.items() if key != "policy")
    return f"{aggregation['policy']}: {rest}" if rest else str(aggregation["policy"])


def rows() -> dict[str, list[str]]:
    """Cells by scheme: for each cluster time to a million samples, time to accuracy, staleness, and traffic."""
    cells: dict[str, list[str]] = {}
    for overrides in CLUSTERS.values():
        comparison = compared(overrides)
        times = []
        for labels, result in zip(comparison.points, comparison.results, strict=True):
            runs = result.record.jobs
            means = {name: sum(number_of(run, name) for run in runs) / len(runs) for name in COLUMNS}
            (aggregation,) = labels.values()
            assert isinstance(aggregation, dict)
            n_samples = sum(number_of(run, "samples_per_s") * number_of(run, "train_time_s") for run in runs)
            carried = sum(
                link.carried_bytes for link in result.record.links if link.link.split(">")[1].startswith("leaf")
            )
            times.append(means["time_to_accuracy_s"])
            cells.setdefault(name_of(aggregation), []).append(
                f"{1e6 / means['samples_per_s']:.1f} / {means['time_to_accuracy_s'] / 60:.0f} / "
                f"{means['staleness_mean']:.1f} / {carried / n_samples / 1e3:.0f}"
            )
        best = min(range(len(times)), key=times.__getitem__)
        name = list(cells)[best]
        cells[name][-1] = f"**{cells[name][-1]}**"
    return cells


def table() -> str:
    """The table in Markdown."""
    lines = [f"| scheme | {' | '.join(CLUSTERS)} |", "| --- |" + " --- |" * len(CLUSTERS)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows().items())])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
