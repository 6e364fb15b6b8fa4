from dataclasses import replace

import numpy as np
import pytest
from views import CPU, DIE, GBIT_PER_S, GIB, GPU, cluster, job

from hetsim.catalog import profiles
from hetsim.model.job import KnownCompute
from hetsim.model.placement import Placement
from hetsim.model.workload import Variable
from hetsim.network.routes import Routes
from hetsim.placement.view import build_view, step_times
from hetsim.workload.memory import server_bytes, update_traffic_bytes, worker_bytes
from hetsim.workload.shards import shard_bytes
from hetsim.workload.step_time import step_time
from hetsim.workload.table import build_model

MODEL = build_model("lenet5", (1, 32, 32), 10)
TRAIN = job(workload=MODEL, batch=64, n_servers=1)
NOTHING: dict[str, float] = {}
DRAWS = np.linspace(0.0, 0.9, 7)


def built(of=TRAIN, place=None, taken=frozenset(), held_bytes=NOTHING, shards=None):
    place = place or cluster()
    shards = shard_bytes(of.variables, of.n_servers, "round-robin") if shards is None and of.n_servers else shards or ()
    return build_view(place, Routes(place), of, taken=taken, held_bytes=held_bytes, shards=shards, draws=DRAWS)


def test_slots_are_in_the_order_of_the_spec_and_know_what_is_taken() -> None:
    seen = built(taken=frozenset({"b/gpu1"}))
    assert [(slot.device, slot.host, slot.kind, slot.card, slot.taken) for slot in seen.slots] == [
        ("a/gpu0", "a", "P", "a/gpu0", False),
        ("b/gpu0", "b", "D", "b/card0", False),
        ("b/gpu1", "b", "D", "b/card0", True),
        ("c/cpu", "c", "C", "c/cpu", False),
    ]


def test_availability_and_memory_are_those_at_0_s() -> None:
    seen = built()
    assert [slot.available_frac for slot in seen.slots] == pytest.approx([1.0, 0.5, 0.5, 0.9])
    assert [slot.free_bytes / GIB for slot in seen.slots] == pytest.approx([12, 11, 11, 16])
    assert [slot.uses_host_memory for slot in seen.slots] == [False, False, False, True]
    assert [host.cpu_available_frac for host in seen.hosts] == pytest.approx([1.0, 0.75, 0.9])
    assert [host.free_bytes / GIB for host in seen.hosts] == pytest.approx([64, 16, 16])


def test_rates_are_what_others_leave_of_the_slowest_link() -> None:
    seen = built()
    assert [slot.bus_bytes_per_s for slot in seen.slots] == pytest.approx([12e9, 10e9, 10e9, 5e10])
    assert [host.network_bytes_per_s / GBIT_PER_S for host in seen.hosts] == pytest.approx([10, 0.8, 1])
    assert seen.path_bytes_per_s("a", "b") == pytest.approx(0.8 * GBIT_PER_S)
    assert seen.path_bytes_per_s("a", "a") == float("inf")


def test_step_times_are_those_of_the_device_and_of_the_hosts_cores() -> None:
    expected = [
        step_time(MODEL, spec, 64, profiles(), n_cores=n_cores).total_s
        for spec, n_cores in [(GPU, None), (DIE, None), (DIE, None), (CPU, 8)]
    ]
    assert [slot.compute_s for slot in built().slots] == pytest.approx(expected)


def test_requirements_come_from_the_model() -> None:
    needs = built().job
    assert (needs.job, needs.n_workers, needs.n_servers) == ("train", 2, 1)
    assert needs.worker_bytes == worker_bytes(MODEL, 64)
    assert needs.server_bytes == server_bytes(MODEL.variables, 2)
    assert needs.gradient_bytes == 4 * 61_706
    assert [host.update_s for host in built().hosts] == pytest.approx([update_traffic_bytes(4 * 61_706) / 5e10] * 3)


def test_known_compute_times_belong_to_ranks_not_devices() -> None:
    seen = built(job(n_servers=2))
    assert {slot.compute_s for slot in seen.slots} == {0.2}
    assert seen.job.worker_bytes == 0.0
    # 20 ms on each server, whatever its share
    assert {host.update_s for host in seen.hosts} == {0.0}
    assert seen.job.server_update_s == 0.02


def test_without_servers_none_needs_memory() -> None:
    assert built(job(n_servers=0)).job.server_bytes == 0.0


def test_shares_are_those_of_the_shards() -> None:
    needs = built(job(workload=MODEL, n_servers=2), shards=(3.0, 1.0)).job
    assert needs.shard_frac == pytest.approx((3.0 / needs.gradient_bytes, 1.0 / needs.gradient_bytes))
    vgg = build_model("vgg16")
    held = built(job(workload=vgg, n_servers=2)).job.shard_frac
    assert sum(held) == pytest.approx(1.0)
    assert max(held) > 0.99


def test_nothing_exchanged_is_shared_evenly() -> None:
    empty = KnownCompute(compute_s=(0.1, 0.1), variables=(Variable("w", 0),))
    assert built(job(workload=empty, n_servers=2)).job.shard_frac == (0.5, 0.5)


def test_memory_that_other_jobs_hold_is_not_free() -> None:
    seen = built(held_bytes={"b": 3 * GIB, "c": 5 * GIB})
    assert [host.free_bytes / GIB for host in seen.hosts] == pytest.approx([64, 13, 11])
    # a worker on a CPU has its host's memory, one on a GPU its own
    assert [slot.free_bytes / GIB for slot in seen.slots] == pytest.approx([12, 11, 11, 11])


def test_latencies_are_those_of_the_way() -> None:
    seen = built()
    assert [slot.bus_latency_s for slot in seen.slots] == pytest.approx([1e-6, 1e-6, 1e-6, 0.0])
    assert (seen.path_latency_s("a", "b"), seen.path_latency_s("a", "a")) == (pytest.approx(50e-6), 0.0)
    place = cluster()
    apart = built(place=replace(place, links=tuple(link for link in place.links if link.a != "c")))
    assert apart.path_latency_s("a", "c") == float("inf")


def test_draws_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        built().draws[0] = 0.5
    assert DRAWS.flags.writeable


def test_a_host_without_network_has_no_rate() -> None:
    place = cluster()
    seen = built(place=replace(place, links=tuple(link for link in place.links if link.a != "c")))
    assert [host.network_bytes_per_s for host in seen.hosts][2] == 0.0


def test_step_times_by_rank() -> None:
    times = step_times(cluster(), TRAIN, Placement(("c/cpu", "a/gpu0")), profiles())
    assert [time.total_s for time in times] == pytest.approx(
        [step_time(MODEL, CPU, 64, profiles(), n_cores=8).total_s, step_time(MODEL, GPU, 64, profiles()).total_s]
    )
    assert {time.basis for time in times} == {"assumed"}


def test_known_step_times_by_rank() -> None:
    times = step_times(cluster(), job(), Placement(("c/cpu", "a/gpu0")), profiles())
    assert [time.total_s for time in times] == [0.1, 0.3]
    assert {(time.basis, time.source) for time in times} == {("measured", "scenario")}
