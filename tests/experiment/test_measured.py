import json
from pathlib import Path

import pytest

from hetsim import compare, load
from hetsim.errors import ScenarioError
from hetsim.experiment.measured import Measured, mean_absolute, measured_rows
from hetsim.report.figure import to_png
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


def measured(points: list[tuple[str, object, float]], metric: str = "samples_per_s") -> Measured:
    return Measured(
        metric=metric,
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


def test_plain_linear_scaling_keeps_a_time(small: dict) -> None:
    rows = measured_rows(measured([("a", 1, 10.0), ("a", 2, 11.0), ("a", 4, 14.0)], "step_time_mean_s"), [10.0] * 3)
    assert [row.linear for row in rows] == [10.0, 10.0, 10.0]
    assert rows[2].linear_error_frac == pytest.approx(-4 / 14)
    content = scenario(small)
    assert "It says: the same time for any workers" in measured_table(compare(load(content)))
    content["measured"] |= {"metric": "samples_per_s", "rows": [["100 ms", 1, 5.0], ["100 ms", 2, 9.0]]}
    comparison = compare(load(content))
    assert [row.linear for row in comparison.measured] == [5.0, 10.0]
    assert "It says: in proportion to workers." in measured_table(comparison)


def test_a_scale_that_goes_too_far_is_refused_before_anything_runs(small: dict) -> None:
    content = scenario(small)
    content["measured"] |= {"scale": "jobs[0].jitter.cv", "fields": ["jobs[0].jitter.cv"], "metric": "samples_per_s"}
    content["measured"]["rows"] = [[5e-324, 1.0], [1.0, 2.0]]
    with pytest.raises(ScenarioError, match="too far for linear scaling"):
        compare(load(content), on_progress=lambda *_: pytest.fail("something ran"))


@pytest.mark.parametrize("value", [1e-30, 1e30])
def test_values_far_from_the_simulated_ones_are_numbers_still(value: float, small: dict, tmp_path: Path) -> None:
    content = scenario(small)
    content["measured"]["rows"][1][2] = value
    comparison = compare(load(content))
    assert measured_table(comparison)
    json.dumps(comparison.to_dict(), allow_nan=False)
    assert to_png(measured_figure(comparison))
    assert comparison.save(tmp_path).is_dir()


def two_jobs(small: dict) -> dict:
    content = scenario(small)
    content["jobs"].append(content["jobs"][0] | {"name": "other", "workers": 1, "compute": "300 ms"})
    return content


def test_measured_values_belong_to_the_job_of_the_scale(small: dict) -> None:
    content = two_jobs(small)
    comparison = compare(load(content))
    assert len(comparison.rows) == 2 * len(comparison.measured) == 8
    train = [row.mean for row in comparison.rows if row.labels["job"] == "train"]
    assert [row.simulated for row in comparison.measured] == train
    assert "train time (s) of train, simulated" in measured_table(comparison)
    content["measured"] |= {"scale": "jobs[1].steps", "fields": ["jobs[other].steps"], "rows": [[5, 3.0], [10, 6.0]]}
    comparison = compare(load(content))
    assert [row.labels for row in comparison.measured] == [{"jobs[other].steps": 5}, {"jobs[other].steps": 10}]
    assert [round(row.simulated, 3) for row in comparison.measured] == [1.5, 3.0]


def test_measured_values_of_several_jobs_need_a_job(small: dict) -> None:
    content = two_jobs(small)
    content["measured"] |= {"scale": "seed", "fields": ["seed"], "rows": [[1, 1.0]]}
    for points in (True, False):
        with pytest.raises(ScenarioError, match="seed belongs to no job, and there are several"):
            compare(load(content, points=points))


def test_texts_are_shown_as_they_are_and_glyphs_that_lack_are_no_warning(small: dict) -> None:
    content = scenario(small)
    content["description"] = "$\\frac{1$ costs $5 \u8a13"
    figure = measured_figure(compare(load(content)))
    assert figure.axes[0].get_title(loc="left").endswith(content["description"])
    assert to_png(figure)
