"""Which metric says which of two schemes is better, and what a run says of stale and dropped gradients."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from hetsim.errors import ScenarioError
from hetsim.experiment.api import compare, run
from hetsim.experiment.points import synchronization_of
from hetsim.metrics.efficiency import samples_to_target
from hetsim.metrics.table import number_of
from hetsim.model.efficiency import Efficiency
from hetsim.report.tables import comparison_table

CONVERGENCE = {"min_steps": 1000, "noise_batch": 640}


def scenario(**job: Any) -> dict[str, Any]:
    return {
        "name": "schemes",
        "cluster": {
            "hosts": [
                {
                    "name": "h",
                    "count": 4,
                    "devices": [{"type": "V100"}],
                    "cpu": {"type": "Xeon-E5-2686v4"},
                    "memory": "64 GiB",
                    "nic": "10 Gbit/s",
                }
            ],
            "topology": {"kind": "star", "latency": "20 us"},
        },
        "jobs": [
            {
                "name": "train",
                "compute": ["10 ms", "10 ms", "10 ms", "40 ms"],
                "gradient": "10 MB",
                "batch": 32,
                "workers": 4,
                "steps": 10,
                "aggregation": {"policy": "parameter-server"},
            }
            | job
        ],
    }


SYNC = {"jobs[train].aggregation.sync": ["bsp", "async"]}


def test_samples_name_no_winner_across_synchronization() -> None:
    compared = compare(scenario(), SYNC)
    assert compared.metric == "train_time_s"
    baseline, other = compared.rows
    assert baseline.is_comparable
    assert (other.is_comparable, other.speedup, other.significant) == (False, None, None)
    assert other.to_dict()["comparable"] is False
    assert "comparable" not in baseline.to_dict()
    text = comparison_table(compared)
    assert "other synchronization" in text
    assert "time_to_accuracy_s" in text


def test_time_to_accuracy_ranks_where_it_is_known_and_says_what_it_assumes() -> None:
    compared = compare(scenario(convergence=CONVERGENCE), SYNC)
    assert compared.metric == "time_to_accuracy_s"
    assert all(row.is_comparable and row.speedup is not None for row in compared.rows)
    text = comparison_table(compared)
    assert "min_steps * (1 + delay_factor * staleness ** delay_exponent)" in text
    assert "train: min_steps 1000, noise_batch 640, delay_factor 1, delay_exponent 1" in text


def test_time_to_accuracy_has_its_closed_form() -> None:
    known = Efficiency(min_steps=1000, noise_batch=640, target="", source="", basis="assumed")
    bsp, behind = (result.record.jobs[0] for result in compare(scenario(convergence=CONVERGENCE), SYNC).results)
    assert number_of(bsp, "time_to_accuracy_s") == pytest.approx(
        samples_to_target(known, 128, 0) / number_of(bsp, "samples_per_s")
    )
    delay = number_of(behind, "staleness_mean")
    assert delay == pytest.approx(3.0, abs=1.0)
    assert number_of(behind, "time_to_accuracy_s") == pytest.approx(
        samples_to_target(known, 32, delay) / number_of(behind, "samples_per_s")
    )


def test_time_to_accuracy_that_is_not_known_is_a_mistake_of_the_scenario() -> None:
    with pytest.raises(ScenarioError, match=r"jobs\[train\].convergence: time_to_accuracy_s is not known"):
        compare(scenario(), SYNC, metric="time_to_accuracy_s")


@pytest.mark.parametrize(
    ("aggregation", "is_in_step"),
    [
        ({"policy": "ring"}, True),
        ({"policy": "hierarchical", "groups": 2}, True),
        ({"policy": "ring", "sync": "local"}, True),
        ({"policy": "ring", "sync": "local", "period": 2}, False),
        ({"policy": "parameter-server", "quorum": 3}, False),
        ({"policy": "parameter-server", "sync": "ssp", "staleness": 1}, False),
        ({"policy": "gossip"}, False),
        ({"policy": "partial", "group_size": 2}, False),
    ],
)
def test_what_counts_as_other_synchronization(aggregation: dict[str, object], is_in_step: bool) -> None:
    (plain,) = run(scenario()).record.jobs
    (other,) = run(scenario(aggregation=aggregation)).record.jobs
    assert (synchronization_of(other) == synchronization_of(plain)) == is_in_step


def test_a_run_tells_how_stale_gradients_were(tmp_path: Path) -> None:
    result = run(scenario(aggregation={"policy": "parameter-server", "sync": "async"}))
    folder = result.save(tmp_path)
    with (folder / "staleness.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["n_gradients"]) for row in rows) == 40
    mean = sum(int(row["n_gradients"]) * int(row["staleness"]) for row in rows) / 40
    assert json.loads(json.dumps(result.to_dict()))["jobs"][0]["staleness_mean"] == pytest.approx(mean)
    assert not (run(scenario()).save(tmp_path) / "staleness.csv").exists()


def test_a_run_tells_what_was_thrown_away() -> None:
    aggregation = {"policy": "parameter-server", "quorum": 3}
    (backed,) = run(scenario(aggregation=aggregation)).record.jobs
    dropped = number_of(backed, "dropped_frac")
    assert 0.0 < dropped < 0.5
    assert backed.n_samples == pytest.approx(backed.n_computed * (1 - dropped))
    assert number_of(backed, "updates_per_s") * number_of(backed, "train_time_s") == pytest.approx(10)
