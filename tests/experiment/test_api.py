"""The public interface from a mapping to tables and folders."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from hetsim import Comparison, Result, compare, load, run
from hetsim.errors import ScenarioError, UnknownNameError
from hetsim.metrics.table import METRICS

PLACEMENT = "jobs[train].placement.policy"


def test_ring_of_two_has_its_closed_form(small: dict) -> None:
    # Patarasuk and Yuan (2009), doi:10.1016/j.jpdc.2008.09.002: 2 (n - 1) / n of the bytes cross each link.
    del small["jobs"][0]["jitter"]
    small["jobs"][0] |= {"compute": ["60 ms", "120 ms"], "aggregation": {"policy": "ring"}, "gradient": "100 MB"}
    small["jobs"][0]["placement"] = {"policy": "infrastructure-aware"}
    result = run(small)
    (step_time_s,) = set(result.to_frame()["step_time_mean_s"])
    assert step_time_s == pytest.approx(0.120 + 100e6 / 1.25e9, rel=2e-3)
    assert set(result.to_frame()["wait_s"]) == {0.030}


def test_tables_are_tidy(small: dict) -> None:
    result = run(small)
    assert isinstance(result, Result)
    jobs, steps, ranks, links = (
        result.to_frame(),
        result.steps_frame(),
        result.ranks_frame(),
        result.links_frame(),
    )
    assert (len(jobs), len(steps), len(ranks)) == (3, 3 * 5, 3 * 2)
    assert set(METRICS) <= set(jobs.columns)
    assert jobs["train_time_s"].tolist() == pytest.approx(steps.groupby("replication")["step_time_s"].sum().tolist())
    breakdown = ranks[["compute_s", "wait_s", "exposed_s"]].sum(axis=1)
    assert breakdown.tolist() == pytest.approx([time_s for time_s in jobs["step_time_mean_s"] for _ in range(2)])
    assert links["utilization_frac"].between(0.0, 1.0, inclusive="right").all()
    assert set(ranks["host"]) == {"busy-0", "busy-1"}


def test_json_has_the_keys_of_the_design(small: dict) -> None:
    content = run(small).to_dict()
    assert list(content) == ["scenario", "fingerprint", "engine", "jobs"]
    assert set(content["jobs"][0]) == {
        "job",
        "replication",
        "train_time_s",
        "step_time_s",
        "samples_per_s",
        "compute_s",
        "communication_s",
        "exposed_s",
        "wait_s",
        "updates_per_s",
        "staleness_mean",
    }
    assert set(content["jobs"][0]["step_time_s"]) == {"mean", "p50", "p95"}
    assert json.loads(json.dumps(content)) == content


def test_seed_decides_and_enters_the_fingerprint(small: dict) -> None:
    first, again, other = run(small), run(small, seed=3), run(small, seed=4)
    assert first.to_dict() == again.to_dict()
    assert first.fingerprint != other.fingerprint
    assert first.to_dict()["jobs"] != other.to_dict()["jobs"]


def test_comparison_section_does_not_rename_a_run(small: dict) -> None:
    with_section = run(small)
    del small["compare"]
    assert run(small).fingerprint == with_section.fingerprint


def test_saved_folder_is_complete_and_the_same_bytes(small: dict, tmp_path: Path) -> None:
    folders = [run(small).save(tmp_path / name) for name in ("one", "two")]
    contents = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert contents[0] == contents[1]
    assert set(contents[0]) == {"jobs.csv", "steps.csv", "ranks.csv", "links.csv", "manifest.json"}
    manifest = json.loads(contents[0]["manifest.json"])
    assert folders[0].name == f"small-{manifest['fingerprint']}"
    assert manifest["seed"] == 3
    assert manifest["placements"] == [
        {"job": "train", "workers": ["busy-0/gpu0", "busy-1/gpu0"], "servers": ["busy-0"], "replications": [0, 1, 2]}
    ]
    assert {item["basis"] for item in manifest["inputs"]} <= {"measured", "derived", "assumed"}
    assert all(item["source"] and item["method"] for item in manifest["inputs"])
    assert {"hetsim", "python", "numpy", "simpy"} <= set(manifest["versions"])
    assert any("parameter server" in choice for choice in manifest["choices"])


def test_fields_that_nothing_read_are_listed(small: dict) -> None:
    assert run(small).unread == ()
    small["jobs"][0] |= {"aggregation": {"policy": "ring"}, "servers": 2}
    assert run(small).unread == ("jobs[train].servers",)


def test_manifest_runs_again(small: dict) -> None:
    result = run(small)
    again = run(result.manifest()["scenario"])
    assert again.fingerprint == result.fingerprint
    assert again.to_dict() == result.to_dict()


def test_jobs_share_the_cluster_in_the_order_of_the_file(small: dict) -> None:
    del small["compare"]
    small["jobs"].append(small["jobs"][0] | {"name": "second", "compute": "10 ms"})
    ranks = run(small, seed=1).ranks_frame()
    assert set(ranks[ranks["job"] == "train"]["device"]) == {"busy-0/gpu0", "busy-1/gpu0"}
    assert set(ranks[ranks["job"] == "second"]["device"]) == {"idle-0/gpu0", "idle-1/gpu0"}


def test_random_placement_differs_between_replications_and_not_between_runs(small: dict) -> None:
    small |= {"replications": 8}
    small["jobs"][0]["placement"] = {"policy": "random"}
    first, again = run(small).manifest()["placements"], run(small).manifest()["placements"]
    assert first == again
    assert len(first) > 1


def test_policies_meet_the_same_noise(small: dict) -> None:
    del small["compare"]
    small["cluster"]["hosts"][0]["background"] = {}
    axes = {PLACEMENT: ["default-tensorflow", "round-robin", "infrastructure-aware"]}
    comparison = compare(small, axes)
    computes = [result.ranks_frame()["compute_s"].tolist() for result in comparison.results]
    assert computes[0] == computes[1] == computes[2]
    assert len(set(computes[0])) == 6


def test_comparison_finds_the_idle_machines(small: dict) -> None:
    comparison = compare(small)
    assert isinstance(comparison, Comparison)
    baseline, aware = comparison.rows
    assert baseline.is_baseline
    assert 1.3 < aware.speedup < 2.0
    assert aware.significant is True
    assert aware.speedup_ci_low <= aware.speedup <= aware.speedup_ci_high
    assert comparison.to_dict()["rows"][1]["labels"] == {PLACEMENT: "infrastructure-aware"}


def test_comparison_folder_holds_all_points(small: dict, tmp_path: Path) -> None:
    folder = compare(small).save(tmp_path, extra={"comparison.png": b"picture"})
    assert {path.name for path in folder.iterdir()} == {
        "comparison.csv",
        "jobs.csv",
        "manifest.json",
        "comparison.png",
    }
    jobs = list(csv.DictReader(io.StringIO((folder / "jobs.csv").read_text())))
    assert [row[PLACEMENT] for row in jobs] == ["default-tensorflow"] * 3 + ["infrastructure-aware"] * 3
    (first, _) = csv.DictReader(io.StringIO((folder / "comparison.csv").read_text()))
    assert float(first["mean_train_time_s"]) == pytest.approx(
        math.fsum(float(row["train_time_s"]) for row in jobs[:3]) / 3
    )


def test_axes_replace_those_of_the_file_and_metric_and_seed_enter_the_name(small: dict) -> None:
    plain = compare(small)
    others = [compare(small, {"jobs[train].steps": [5, 6]}), compare(small, metric="wait_s"), compare(small, seed=9)]
    assert len({plain.fingerprint, *(other.fingerprint for other in others)}) == 4
    assert list(others[0].axes) == ["jobs[train].steps"]
    assert others[2].results[0].setup.seed == 9


def test_progress_counts_replications(small: dict) -> None:
    calls: list[tuple[int, int]] = []
    compare(small, on_progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 6) for done in range(7)]


def test_nothing_to_compare_says_how_to(small: dict) -> None:
    del small["compare"]
    with pytest.raises(ScenarioError, match=r"add a section to the scenario, such as 'compare: \{'jobs"):
        compare(small)


def test_problems_of_all_points_are_reported_at_once(small: dict) -> None:
    with pytest.raises(ScenarioError) as caught:
        compare(small, {"jobs[train].workers": [2, 0, 99]})
    assert len(caught.value.issues) == 2


def test_unknown_metric_is_refused_by_name(small: dict) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'train_time_s'"):
        compare(small, metric="train_time")


def test_loaded_scenarios_are_taken_as_they_are(small: dict) -> None:
    scenario = load(small, ["jobs[train].steps=2"])
    assert len(run(scenario).steps_frame()) == 3 * 2


def test_html_shows_the_table(small: dict) -> None:
    assert "train_time_s" in run(small)._repr_html_()
    assert "infrastructure-aware" in compare(small)._repr_html_()
