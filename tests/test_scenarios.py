"""The shipped scenarios, and what they are meant to show."""

import pytest

from hetsim import compare, load, run
from hetsim.experiment.measured import mean_absolute
from hetsim.scenario.load import shipped

POLICIES = {"jobs[train].placement.policy": ["default-tensorflow", "infrastructure-aware"]}
QUIET = ["replications=1", "jobs[train].steps=4", "jobs[train].jitter.cv=0"]
HOSTS = ("v100-busy", "v100", "p100", "k80")


def free_network() -> list[str]:
    """Overrides that leave nothing but compute: no transfer takes time, and a ring has no server to wait for."""
    free = "{rate: 1000 PB/s, latency: 0 s}"
    overrides = [f"cluster.hosts[{host}].nic={free}" for host in HOSTS]
    overrides += [f"cluster.hosts[{host}].devices[0].bus={free}" for host in HOSTS]
    return [*overrides, "cluster.topology.latency=0 s", "jobs[train].aggregation.policy=ring"]


def reduction(overrides: list[str], axes: dict = POLICIES) -> float:
    default, aware = compare(load("busy-datacenter", [*QUIET, *overrides]), axes).rows
    return 1.0 - aware.mean / default.mean


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_scenario_loads_and_runs(name: str) -> None:
    result = run(load(name, ["replications=1", "jobs[0].steps=1"]))
    assert result.to_frame()["train_time_s"].gt(0).all()
    assert result.unread == ()


@pytest.mark.parametrize("model", ["resnet50", "mobilenet_v2"])
@pytest.mark.parametrize("busy", [0.54, 0.2, 0.75])
def test_without_a_network_the_gain_is_the_speed_of_the_slowest_worker(model: str, busy: float) -> None:
    # 54 % less time is 1 / (1 - 0.54) = 2.17 times faster: the slowest worker that default TensorFlow takes has 46 % of
    # its time left, the slowest that the other policy takes is the same GPU, idle.
    overrides = [f"jobs[train].model={model}", f"cluster.hosts[v100-busy].background.gpu={busy}"]
    assert reduction([*overrides, *free_network()]) == pytest.approx(busy, abs=1e-6)


def test_the_compute_of_the_slowest_worker_follows_it_with_the_network_too() -> None:
    frames = [
        run(load("busy-datacenter", [*QUIET, f"jobs[train].placement.policy={policy}"])).ranks_frame()
        for policy in POLICIES["jobs[train].placement.policy"]
    ]
    default, aware = (frame["compute_s"].max() for frame in frames)
    assert 1.0 - aware / default == pytest.approx(0.54, abs=1e-9)


def test_the_network_takes_its_part_of_the_gain() -> None:
    gains = [reduction([f"jobs[train].model={model}"]) for model in ("resnet50", "mobilenet_v2")]
    assert 0.3 < gains[0] < gains[1] < 0.54


def test_there_is_no_gain_where_the_slow_machines_cannot_be_avoided() -> None:
    # All ten devices are taken by either policy.
    assert reduction([*free_network(), "jobs[train].workers=12"]) == pytest.approx(0.0, abs=1e-9)


def test_the_gain_is_beyond_noise_in_the_scenario_as_it_is() -> None:
    comparison = compare(load("busy-datacenter", ["replications=5", "jobs[train].steps=10"]))
    assert [row.significant for row in comparison.rows if not row.is_baseline] == [True, True]


@pytest.mark.parametrize(
    ("name", "n_predicted", "ours", "linear"),
    [("tf-benchmarks-p100", 27, 0.045, 0.0634), ("tf-benchmarks-k80", 47, 0.050, 0.0787)],
)
def test_published_throughput_is_predicted_better_than_by_linear_scaling(
    name: str, n_predicted: int, ours: float, linear: float
) -> None:
    comparison = compare(load(name, ["jobs[train].steps=4"]))
    predicted = [row for row in comparison.measured if not row.is_reference]
    assert len(predicted) == n_predicted
    assert mean_absolute([row.error_frac for row in predicted]) < ours
    assert mean_absolute([row.linear_error_frac for row in predicted]) == pytest.approx(linear, abs=5e-5)


def test_one_gpu_rows_are_what_the_profiles_were_fitted_to() -> None:
    for name, worst in (("tf-benchmarks-p100", 0.035), ("tf-benchmarks-k80", 0.12)):
        rows = compare(load(name, ["jobs[train].steps=2"])).measured
        assert max(abs(row.error_frac) for row in rows if row.is_reference) < worst


IN_ITS_RACK = "jobs[second].placement.workers=[node-8/gpu0, node-9/gpu0, node-10/gpu0, node-11/gpu0]"


def spine_times(overrides: list[str] = ()) -> dict[str, float]:
    """Train time of each job of the two that share a spine."""
    found = run(load("shared-spine", ["jobs[first].steps=5", "jobs[second].steps=5", *overrides]))
    return {each.job: each.trace.step_end.max() / 1e12 for each in found.record.jobs}


def test_jobs_that_share_a_spine_slow_each_other_by_fair_shares() -> None:
    # An uplink of 10 Gbit/s carries two messages of each ring at a time; a ring sends 1.5 times its 100 MB.
    shared, apart = spine_times(), spine_times([IN_ITS_RACK])
    step_s = {n_messages: 0.05 + 1.5 * 100e6 / (1.25e9 / n_messages) for n_messages in (1, 2, 4)}
    assert shared == pytest.approx({"first": 5 * step_s[4], "second": 5 * step_s[4]}, rel=1e-3)
    assert apart == pytest.approx({"first": 5 * step_s[2], "second": 5 * step_s[1]}, rel=1e-3)


def test_without_the_other_job_one_has_its_full_rate() -> None:
    content = load("shared-spine", ["jobs[first].steps=5"]).resolved()
    del content["compare"], content["jobs"][1]
    (alone,) = run(load(content)).record.jobs
    apart = spine_times([IN_ITS_RACK])
    assert alone.trace.step_end.max() / 1e12 == apart["first"]
