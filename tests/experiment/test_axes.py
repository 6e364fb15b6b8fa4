"""One field is one axis, however it is spelt, and each value is there once."""

import numpy as np
import pytest

from hetsim import compare, load
from hetsim.errors import ScenarioError
from hetsim.experiment.axes import axes_of, crossed

PLACEMENT = "jobs[train].placement.policy"


@pytest.mark.parametrize("path", ["jobs[0].workers", "jobs[train].workers", ".jobs[0].workers"])
def test_a_field_has_one_spelling(path: str, small: dict) -> None:
    assert axes_of(load(small), [(path, [1, 2])]) == {"jobs[train].workers": (1, 2)}
    comparison = compare(small, {path: [1, 2]})
    assert list(comparison.axes) == ["jobs[train].workers"]
    assert [row.labels for row in comparison.rows] == [{"jobs[train].workers": 1}, {"jobs[train].workers": 2}]
    assert comparison.fingerprint == compare(small, {"jobs[train].workers": [1, 2]}).fingerprint


def test_an_axis_replaces_that_of_the_file_in_any_spelling(small: dict) -> None:
    axes = crossed(load(small), [("jobs[0].steps", [1]), ("jobs[0].placement.policy", ["random"])])
    assert axes == {PLACEMENT: ("random",), "jobs[train].steps": (1,)}
    assert list(axes) == [PLACEMENT, "jobs[train].steps"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"jobs[0].steps": [1], "jobs[train].steps": [2]},
            "'jobs[0].steps' and 'jobs[train].steps' are the same field",
        ),
        ({"jobs[0].jitter": [{"cv": 0}], "jobs[train].jitter.cv": [0.1]}, "one is a part of the other"),
        ({"jobs[0].jitter.cv": [0.1], "jobs[train].jitter": [{"cv": 0}]}, "one is a part of the other"),
        ({"jobs[0].steps": [2, 3, 2]}, "jobs[0].steps: 2 is there twice"),
        ({"jobs[0].jitter": [{"cv": 0.1}, {"cv": 0.1}]}, "is there twice"),
        ({"jobs[0].steps": []}, "an axis needs one value or more"),
        ({PLACEMENT: "random"}, "an axis needs a list of values, not the text 'random'"),
        ({"jobs[0].step": [1]}, "did you mean 'steps'?"),
        ({"jobs[0].steps": [object()]}, "an object of type object has no place"),
    ],
)
def test_what_is_no_set_of_axes_is_refused(given: dict, message: str, small: dict) -> None:
    with pytest.raises(ScenarioError) as caught:
        compare(small, given)
    assert message in str(caught.value)


def test_a_part_of_an_axis_of_the_file_is_refused_by_both_names(small: dict) -> None:
    with pytest.raises(
        ScenarioError, match=r"'jobs\[train\]\.placement\.policy' and 'jobs\[train\]\.placement' cannot"
    ):
        crossed(load(small), [("jobs[0].placement", [{"policy": "random"}])])


def test_every_problem_is_reported_at_once(small: dict) -> None:
    with pytest.raises(ScenarioError) as caught:
        compare(small, {"jobs[0].steps": [2, 2], "jobs[0].workers": [], "jobs[train].workers": [1]})
    assert len(caught.value.issues) == 3


def test_numbers_of_numpy_become_plain_ones(small: dict) -> None:
    comparison = compare(small, {"jobs[0].steps": np.array([2, 3])})
    assert [type(row.labels["jobs[train].steps"]) for row in comparison.rows] == [int, int]


def test_a_name_that_changes_hides_no_other_field(small: dict) -> None:
    comparison = compare(small, {"jobs[0].name": ["one", "two"], "jobs[train].steps": [2]})
    assert [set(result.to_frame()["job"]) for result in comparison.results] == [{"one"}, {"two"}]


def test_a_seed_beside_an_axis_of_seeds_would_have_no_effect(small: dict) -> None:
    with pytest.raises(ScenarioError, match="the points have seeds of their own"):
        compare(small, {"seed": [1, 2]}, seed=3)
    assert compare(small, {"seed": [1, 2]}).manifest()["seed"] == [1, 2]
    assert compare(small, {"jobs[0].steps": [1, 2]}, seed=3).manifest()["seed"] == 3
