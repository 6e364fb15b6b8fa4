import json
from pathlib import Path

import pytest

from hetsim import compare, load
from hetsim.errors import ScenarioError
from hetsim.experiment.measured import Measured, mean_absolute, measured_rows
from hetsim.report.measured import measured_figure, measured_table


def section(rows: list[list[object]]) -> dict:
    return {
        "metric": "train_time_s",
        "source": "made up",
        "scale": "jobs[train].workers",
        "fields": ["jobs[train].compute", "jobs[train].workers"],
        "rows": rows,
    }


def scenario(small: dict) -> dict:
    del small["compare"]
    small["jobs"][0]["aggregation"] = {"policy": "ring"}
    small["jobs"][0]["jitter"]["cv"] = 0.0
    small["measured"] = section([["100 ms", 1, 1.0], ["100 ms", 2, 1.25], ["50 ms", 1, 0.4], ["50 ms", 2, 0.9]])
    return small


def measured(points: list[tuple[str, object, float]]) -> Measured:
    return Measured(
        metric="samples_per_s",
        source="made up",
        scale="n",
        points=tuple({"case": case, "n": n} for case, n, _ in points),
        values=tuple(value for _, _, value in points),
    )


def test_linear_scaling_starts_from_the_smallest_measured_case_of_the_same_kind() -> None:
    rows = measured_rows(
        measured([("a", 2, 10.0), ("a", 8, 30.0), ("b", 4, 8.0), ("b", 1, 3.0), ("a", 2, 11.0), ("a", 4, 22.0)]),
        [9.0] * 6,
    )
    assert [row.linear for row in rows] == [10.0, 40.0, 12.0, 3.0, 11.0, 22.0]
    assert [row.is_reference for row in rows] == [True, False, False, True, True, False]
    assert rows[1].linear_error_frac == pytest.approx(1 / 3)
    assert rows[0].error_frac == pytest.approx(-0.1)
    assert mean_absolute([0.1, -0.3]) == pytest.approx(0.2)


def test_a_scale_that_is_no_number_is_refused() -> None:
    with pytest.raises(ScenarioError, match="'many', no positive number"):
        measured_rows(measured([("a", "many", 1.0)]), [1.0])


def test_a_scenario_with_measurements_is_held_against_them(small: dict, tmp_path: Path) -> None:
    comparison = compare(load(scenario(small)))
    assert comparison.metric == "train_time_s"
    # The busy machines have half of their time left: 5 steps of 100 ms take 1 s; two ranks exchange 10 MB in 8 ms.
    assert [round(row.simulated, 3) for row in comparison.measured] == [1.0, 1.041, 0.5, 0.541]
    table = measured_table(comparison)
    assert "all: mean absolute error" in table
    assert "plain linear scaling" in table
    assert "made up" in table
    folder = comparison.save(tmp_path)
    assert (folder / "measured.csv").read_text().splitlines()[0].endswith("linear,linear_error_frac,is_reference")
    assert json.loads((folder / "manifest.json").read_text())["measured_source"] == "made up"
    assert len(comparison.to_dict()["measured"]) == 4


def test_values_to_try_go_before_measurements(small: dict) -> None:
    content = scenario(small)
    assert compare(content, {"jobs[train].workers": [1, 2]}).measured == ()
    assert compare(content, metric="samples_per_s").measured == ()


def test_the_figure_has_a_line_for_each_predicted_case(small: dict) -> None:
    axes = measured_figure(compare(load(scenario(small)))).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["100 ms", "50 ms"]


def test_only_references_predict_nothing(small: dict) -> None:
    content = scenario(small)
    content["measured"]["rows"] = content["measured"]["rows"][:1]
    comparison = compare(load(content))
    assert "nothing is predicted" in measured_table(comparison)
    measured_figure(comparison)
