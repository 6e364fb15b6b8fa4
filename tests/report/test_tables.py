"""Tables say what was compared and what the differences are worth."""

from hetsim import compare, run
from hetsim.report.tables import comparison_table, run_table

PLACEMENT = "jobs[train].placement.policy"


def line_of(text: str, *words: str) -> str:
    (line,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return line


def test_comparison_names_metric_baseline_and_insignificant_differences(small: dict) -> None:
    small["cluster"]["hosts"][0]["background"] = {}
    comparison = compare(small, {PLACEMENT: ["default-tensorflow", "round-robin", "infrastructure-aware"]})
    text = comparison_table(comparison)
    assert "small: train time (s), lower is better; 3 replications, seed 3" in text
    assert line_of(text, "default-tensorflow", "1x").endswith("baseline")
    assert line_of(text, "round-robin").endswith("not significant")
    assert "95 % interval" in text


def test_significant_difference_carries_no_mark(small: dict) -> None:
    line = line_of(comparison_table(compare(small)), "infrastructure-aware  ")
    assert "x [" in line
    assert "not significant" not in line


def test_comparison_says_where_each_point_ran_and_what_is_guessed(small: dict) -> None:
    small["jobs"][0] = {
        "name": "train",
        "model": "mobilenet_v1",
        "dataset": "imagenet",
        "batch": 8,
        "workers": 2,
        "steps": 2,
        "placement": {"policy": "default-tensorflow"},
        "aggregation": {"policy": "parameter-server"},
    }
    text = comparison_table(compare(small))
    assert "default-tensorflow: train ran on busy-0/gpu0, busy-1/gpu0; servers on busy-0" in text
    assert "infrastructure-aware: train ran on idle-0/gpu0, idle-1/gpu0; servers on idle-0" in text
    assert "assumed step time of mobilenet_v1 on V100, batch 8" in text
    assert "different numbers of samples" not in text
    assert "different numbers of samples" in comparison_table(compare(small, {"jobs[train].batch": [8, 16]}))


def test_rows_that_are_compared_stand_together(small: dict) -> None:
    axes = {PLACEMENT: ["default-tensorflow", "infrastructure-aware"], "jobs[train].gradient": ["1 MB", "10 MB"]}
    lines = comparison_table(compare(small, axes)).splitlines()
    table = [line.split()[:3] for line in lines if line.startswith(("1 MB", "10 MB"))]
    assert [row[0] for row in table] == ["1", "1", "10", "10"]
    assert [row[2] for row in table] == ["default-tensorflow", "infrastructure-aware"] * 2


def test_one_replication_claims_nothing(small: dict) -> None:
    small["replications"] = 1
    text = comparison_table(compare(small))
    assert line_of(text, "infrastructure-aware  ").endswith("one replication")
    assert "--replications 10" in text
    assert "[" not in line_of(text, "infrastructure-aware  ")


def test_value_of_zero_has_no_ratio(small: dict) -> None:
    small["jobs"][0] |= {"jitter": {"cv": 0}, "aggregation": {"policy": "ring"}}
    small["jobs"][0]["compute"] = "60 ms"
    text = comparison_table(compare(small, {"jobs[train].compute": ["60 ms", ["60 ms", "80 ms"]]}, metric="wait_s"))
    assert "no ratio: a value is zero" in text


def test_run_says_where_and_on_what_it_rests(small: dict) -> None:
    small["jobs"][0] |= {"aggregation": {"policy": "ring"}, "servers": 2}
    text = run_table(run(small))
    assert "train ran on busy-0/gpu0, busy-1/gpu0" in text
    assert "straggler wait" in line_of(text, "samples/s")
    assert "Inputs: 2 measured, 0 derived" in text
    assert "measured  step time of train, rank 0: 60 ms" in text
    assert "never read: jobs[train].servers" in text


def test_many_placements_are_counted_not_listed(small: dict) -> None:
    small |= {"replications": 12}
    small["jobs"][0]["placement"] = {"policy": "random"}
    text = run_table(run(small))
    assert text.count("train ran on") == 3
    assert "more places: see manifest.json" in text


def test_the_title_claims_no_seed_and_no_number_of_replications_that_rows_differ_in(small: dict) -> None:
    text = comparison_table(compare(small, {"seed": [1, 2], "replications": [2, 3]}))
    assert "small: train time (s), lower is better; 2 to 3 replications, seeds as below" in text
    assert "which share no random draws across seeds" in text
