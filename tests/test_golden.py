"""The shipped scenarios, short, pinned: a change of the model that moves a number shows here."""

import pytest

from hetsim import compare, load, run
from hetsim.pytest_plugin import Golden
from hetsim.scenario.load import shipped

SHORT = ["replications=2", "jobs[0].steps=4"]


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_run(hetsim_golden: Golden, name: str) -> None:
    hetsim_golden(run(load(name, SHORT)))


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_comparison(hetsim_golden: Golden, name: str) -> None:
    hetsim_golden(compare(load(name, SHORT)))


def test_a_ring(hetsim_golden: Golden) -> None:
    hetsim_golden(run(load("busy-datacenter", [*SHORT, "jobs[train].aggregation.policy=ring"])))
