import pytest
from views import GBIT_PER_S, host, slot, view

from hetsim.placement.predict import duration_s, predict_step_s, worker_step_s

NO_UPDATE = {"update_s": 0.0}


def test_slowest_worker_decides_and_load_slows_it() -> None:
    slots = [slot("a/gpu0", 0.1), slot("b/gpu0", 0.1, available_frac=0.25)]
    assert predict_step_s(view(slots, [host("a"), host("b")], gradient_bytes=0.0), slots, [host("a", **NO_UPDATE)]) == (
        pytest.approx(0.4)
    )


def test_54_percent_less_time_is_a_slowest_worker_2_17_times_faster() -> None:
    # facts of the abstract: a reduction of 0.54 of a compute-bound step is a speed-up of 1 / (1 - 0.54)
    hosts = [host(name, **NO_UPDATE) for name in "abc"]
    slots = [slot("a/gpu0", 0.1, available_frac=0.46), slot("b/gpu0", 0.1), slot("c/gpu0", 0.1)]
    compute_bound = view(slots, hosts, gradient_bytes=0.0)
    blind = predict_step_s(compute_bound, slots[:2], hosts[:1])
    aware = predict_step_s(compute_bound, slots[1:], hosts[:1])
    assert blind / aware == pytest.approx(2.174, abs=5e-4)
    assert 1.0 - aware / blind == pytest.approx(0.54)


def test_dies_of_a_card_share_what_it_sustains() -> None:
    die = slot("a/gpu0", 0.3, card="a/card0", card_capacity=1.5, available_frac=0.5)
    assert worker_step_s(die, 1) == pytest.approx(0.6)
    assert worker_step_s(die, 2) == pytest.approx(0.8)


def test_a_taken_die_counts_as_busy() -> None:
    dies = [slot(f"a/gpu{i}", 0.3, card="a/card0", card_capacity=1.5, taken=i == 1) for i in range(2)]
    seen = view(dies, [host("a")], gradient_bytes=0.0)
    assert predict_step_s(seen, dies[:1], []) == pytest.approx(0.4)


def test_one_server_takes_n_gradients_each_way() -> None:
    hosts = [host("ps", **NO_UPDATE, network_bytes_per_s=1e9), *(host(f"h{i}") for i in range(3))]
    slots = [slot(f"h{i}/gpu0", 0.0) for i in range(3)]
    assert predict_step_s(view(slots, hosts, gradient_bytes=1e8), slots, hosts[:1]) == pytest.approx(2 * 3 * 1e8 / 1e9)


def test_k_servers_take_a_share_each() -> None:
    hosts = [host(f"ps{i}", **NO_UPDATE, network_bytes_per_s=1e9) for i in range(2)]
    workers = [host(f"h{i}", network_bytes_per_s=1e10) for i in range(4)]
    slots = [slot(f"h{i}/gpu0", 0.0) for i in range(4)]
    seen = view(slots, [*hosts, *workers], gradient_bytes=1e8, n_servers=2)
    assert predict_step_s(seen, slots, hosts) == pytest.approx(2 * 4 * 0.5e8 / 1e9)


def test_a_worker_on_the_servers_host_goes_over_its_bus() -> None:
    hosts = [host("a", **NO_UPDATE, network_bytes_per_s=0.0)]
    slots = [slot("a/gpu0", 0.0, bus_bytes_per_s=1e10)]
    assert predict_step_s(view(slots, hosts, gradient_bytes=1e8), slots, hosts) == pytest.approx(2 * 1e8 / 1e10)


def test_workers_of_one_host_share_its_way_out() -> None:
    hosts = [host("ps", **NO_UPDATE, network_bytes_per_s=1e10), host("a", network_bytes_per_s=1e9)]
    slots = [slot(f"a/gpu{i}", 0.0) for i in range(4)]
    assert predict_step_s(view(slots, hosts, gradient_bytes=1e8), slots, hosts[:1]) == pytest.approx(2 * 4 * 1e8 / 1e9)


def test_servers_update_their_shares_on_what_is_left_of_the_cpu() -> None:
    hosts = [host("a", update_s=0.2, cpu_available_frac=0.5), host("b", update_s=0.2)]
    slots = [slot("a/gpu0", 0.0)]
    one = view(slots, hosts, gradient_bytes=0.0)
    assert predict_step_s(one, slots, hosts[:1]) == pytest.approx(0.4)
    two = view(slots, hosts, gradient_bytes=0.0, n_servers=2)
    assert predict_step_s(two, slots, hosts) == pytest.approx(0.2)
    assert predict_step_s(two, slots, [hosts[1], hosts[1]]) == pytest.approx(0.2)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_ring_is_bound_by_its_slowest_link(n: int) -> None:
    # 2 (n - 1) / n * S / B: Patarasuk & Yuan 2009, doi:10.1016/j.jpdc.2008.09.002
    hosts = [host(f"h{i}", network_bytes_per_s=(1 + 9 * (i > 0)) * GBIT_PER_S) for i in range(n)]
    slots = [slot(f"h{i}/gpu0", 0.0) for i in range(n)]
    seen = view(slots, hosts, gradient_bytes=1e8, n_servers=0)
    assert predict_step_s(seen, slots, []) == pytest.approx(2 * (n - 1) / n * 1e8 / GBIT_PER_S)


def test_ring_of_one_exchanges_nothing() -> None:
    slots = [slot("a/gpu0", 0.1)]
    assert predict_step_s(view(slots, [host("a")]), slots, []) == pytest.approx(0.1)


def test_a_ring_that_leaves_a_host_twice_gets_half_its_way() -> None:
    hosts = [host("a"), host("b")]
    slots = [slot("a/gpu0", 0.0), slot("b/gpu0", 0.0), slot("a/gpu1", 0.0), slot("b/gpu1", 0.0)]
    seen = view(slots, hosts, gradient_bytes=1e8, n_servers=0)
    beside = [slots[0], slots[2], slots[1], slots[3]]
    assert predict_step_s(seen, slots, []) == pytest.approx(2 * predict_step_s(seen, beside, []))


def test_what_cannot_happen_takes_forever() -> None:
    hosts = [host("a", network_bytes_per_s=0.0), host("b")]
    slots = [slot("a/gpu0"), slot("b/gpu0", available_frac=0.0)]
    seen = view(slots, hosts)
    assert predict_step_s(seen, slots[:1], hosts[1:]) == float("inf")
    assert predict_step_s(seen, slots[1:], hosts[1:]) == float("inf")
    assert duration_s(0.0, 0.0) == 0.0


def test_each_server_takes_its_share() -> None:
    hosts = [host(f"ps{i}", **NO_UPDATE, network_bytes_per_s=1e9) for i in range(2)]
    workers = [host(f"h{i}", network_bytes_per_s=1e10) for i in range(4)]
    slots = [slot(f"h{i}/gpu0", 0.0) for i in range(4)]
    seen = view(slots, [*hosts, *workers], gradient_bytes=1e8, n_servers=2, shard_frac=(0.9, 0.1))
    assert predict_step_s(seen, slots, hosts) == pytest.approx(2 * 4 * 0.9e8 / 1e9)


def test_a_server_without_variables_takes_part_in_nothing() -> None:
    hosts = [host("a", **NO_UPDATE, network_bytes_per_s=0.0), host("b", update_s=9.0, cpu_available_frac=0.0)]
    slots = [slot("a/gpu0", 0.0, bus_bytes_per_s=1e10)]
    seen = view(slots, hosts, gradient_bytes=1e8, n_servers=2, shard_frac=(1.0, 0.0), server_update_s=0.5)
    assert predict_step_s(seen, slots, hosts) == pytest.approx(2 * 1e8 / 1e10 + 0.5)


def test_a_known_update_takes_as_long_on_every_server() -> None:
    hosts = [host("a", **NO_UPDATE, cpu_available_frac=0.5), host("b", **NO_UPDATE)]
    slots = [slot("a/gpu0", 0.0)]
    seen = view(slots, hosts, gradient_bytes=0.0, n_servers=2, shard_frac=(0.9, 0.1), server_update_s=0.2)
    assert predict_step_s(seen, slots, hosts) == pytest.approx(0.4)
    assert predict_step_s(seen, slots, [hosts[1], hosts[1]]) == pytest.approx(0.4)


def test_latencies_are_paid_each_way_or_each_round() -> None:
    def latency_s(a: str, b: str) -> float:
        return 0.0 if a == b else 2e-3

    hosts = [host(name, **NO_UPDATE, network_bytes_per_s=1e12) for name in "abc"]
    slots = [slot(f"{name}/gpu0", 0.0, bus_latency_s=1e-3, bus_bytes_per_s=1e12) for name in "abc"]
    seen = view(slots, hosts, gradient_bytes=3.0, latency_s=latency_s)
    assert predict_step_s(seen, slots, hosts[:1]) == pytest.approx(2 * 3e-3)
    assert predict_step_s(seen, slots[:1], hosts[:1]) == pytest.approx(2 * 1e-3)
    assert predict_step_s(seen, slots, []) == pytest.approx(4 * 4e-3)
