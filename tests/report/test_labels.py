"""Names and digits for people."""

import pytest

from hetsim.metrics.table import METRICS
from hetsim.report.labels import axis_names, metric_label, number, with_interval


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("train_time_s", "train time (s)"),
        ("samples_per_s", "samples/s"),
        ("updates_per_s", "updates/s"),
        ("wait_s", "wait (s)"),
    ],
)
def test_metric_label_names_the_unit_once(name: str, label: str) -> None:
    assert metric_label(name, METRICS[name]) == label


def test_short_names_stay_apart() -> None:
    paths = ["jobs[a].placement.policy", "jobs[b].placement.policy", "jobs[a].batch"]
    assert axis_names(paths) == {paths[0]: paths[0], paths[1]: paths[1], paths[2]: "batch"}


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (123.456, 1.3, "123.5"),
        (123.456, None, "123.5"),
        (0.00123456, 0.00001, "0.001235"),
        (123456.0, None, "123456"),
        (0.0, None, "0"),
        (2.5e-9, None, "2.5e-09"),
        (5.0, 1e-15, "5.00000"),
    ],
)
def test_number_has_the_digits_that_its_interval_bears(value: float, half_width: float | None, text: str) -> None:
    assert number(value, half_width) == text


def test_interval_is_written_only_where_there_is_one() -> None:
    assert with_interval(2.0, None, None, "x") == "2.000x"
    assert with_interval(2.0, 1.9, 2.1, "x") == "2.00x [1.90, 2.10]"
    assert with_interval(2.0, 2.0, 2.0) == "2.000 [no spread]"
