"""A pool gives the same bytes as one process, and hands failures over whole."""

import pickle
from pathlib import Path

import pytest

from hetsim import run
from hetsim.errors import (
    DeadlockError,
    HetsimError,
    Issue,
    PlacementError,
    PolicyError,
    ScenarioError,
    SimulationError,
    UnitError,
    UnknownNameError,
    WorkerError,
)
from hetsim.experiment.rows import job_rows, link_rows, rank_rows, step_rows, to_csv

POLICIES = '''
"""Policies that go wrong."""
import os

def breaks(view):
    """Break a rule."""
    raise ValueError("out of ideas")

def dies(view):
    """Take the process down."""
    os._exit(3)
'''


@pytest.mark.parametrize(
    "error",
    [
        HetsimError("plain"),
        UnitError("no unit"),
        UnknownNameError("no name"),
        ScenarioError([Issue(path="a.b", message="wrong", file="f.yaml", line=1, column=2)]),
        PolicyError("policy", "job", "rule"),
        PlacementError("policy", "job", "rule"),
        SimulationError("stuck", 1.5),
        DeadlockError("nobody moves", 2.5),
        WorkerError("gone"),
    ],
)
def test_errors_cross_process_boundaries_whole(error: HetsimError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_pool_gives_the_same_bytes(small: dict) -> None:
    small["replications"] = 10
    calls: list[tuple[int, int]] = []
    serial = run(small)
    pooled = run(small, processes=2, on_progress=lambda done, total: calls.append((done, total)))
    for rows in (job_rows, step_rows, rank_rows, link_rows):
        assert to_csv(rows(pooled.record)) == to_csv(rows(serial.record))
    assert pooled.choices == serial.choices
    assert calls[0] == (0, 10)
    assert calls[-1] == (10, 10)


def test_no_process_is_refused(small: dict) -> None:
    with pytest.raises(HetsimError, match="0 processes"):
        run(small, processes=0)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "error"), [("breaks", PolicyError), ("dies", WorkerError)])
def test_failures_in_a_pool_are_errors_of_ours(
    policy: str, error: type[HetsimError], small: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_policies.py").write_text(POLICIES)
    monkeypatch.syspath_prepend(tmp_path)
    small["jobs"][0]["placement"] = {"policy": f"bad_policies:{policy}"}
    del small["compare"]
    with pytest.raises(error):
        run(small, processes=2)
