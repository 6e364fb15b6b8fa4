import itertools
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from views import GBIT_PER_S, GIB, host, slot, small_views, unequal, view

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.errors import PlacementError
from hetsim.model.placement import Placement
from hetsim.placement.choose import Servers
from hetsim.placement.default_tensorflow import default_tensorflow
from hetsim.placement.infrastructure_aware import infrastructure_aware
from hetsim.placement.predict import Predictor, predict_step_s
from hetsim.placement.search import in_order

WITHIN = 1.2
"""How far from the best of all placements the search may stay, by its own predictor, on small views."""


def predicted_s(seen: PlacementView, placement: Placement) -> float:
    slots = {each.device: each for each in seen.slots}
    hosts = {each.name: each for each in seen.hosts}
    return predict_step_s(
        seen, [slots[name] for name in placement.workers], [hosts[name] for name in placement.servers]
    )


def best_s(seen: PlacementView, *, is_separate: bool = False) -> float:
    free = [each for each in seen.slots if not each.taken]
    return min(
        (
            predict_step_s(seen, workers, servers)
            for workers in itertools.combinations(free, seen.job.n_workers)
            for servers in itertools.product(seen.hosts, repeat=seen.job.n_servers)
            if not (is_separate and {each.host for each in workers} & {each.name for each in servers})
        ),
        default=float("inf"),
    )


@settings(max_examples=60, deadline=None)
@given(small_views(only_compute=True))
def test_equals_brute_force_where_only_compute_differs(seen: PlacementView) -> None:
    assume(sum(not each.taken for each in seen.slots) >= seen.job.n_workers)
    assert predicted_s(seen, infrastructure_aware(seen)) == pytest.approx(best_s(seen), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(small_views())
def test_is_close_to_brute_force(seen: PlacementView) -> None:
    assume(sum(not each.taken for each in seen.slots) >= seen.job.n_workers)
    assert predicted_s(seen, infrastructure_aware(seen)) <= WITHIN * best_s(seen)


@settings(max_examples=60, deadline=None)
@given(small_views())
def test_separate_is_close_to_brute_force_or_impossible(seen: PlacementView) -> None:
    assume(sum(not each.taken for each in seen.slots) >= seen.job.n_workers)
    best = best_s(seen, is_separate=True)
    if best == float("inf"):
        with pytest.raises(PlacementError):
            infrastructure_aware(seen, servers="separate")
        return
    placement = infrastructure_aware(seen, servers="separate")
    assert predicted_s(seen, placement) <= WITHIN * best
    assert not {name.split("/")[0] for name in placement.workers} & set(placement.servers)


@settings(max_examples=60, deadline=None)
@given(small_views())
def test_is_never_worse_than_the_default(seen: PlacementView) -> None:
    assume(sum(not each.taken for each in seen.slots) >= seen.job.n_workers)
    assert predicted_s(seen, infrastructure_aware(seen)) <= predicted_s(seen, default_tensorflow(seen))


def test_leaves_busy_devices_alone() -> None:
    slots = [slot("a/gpu0", available_frac=0.4), slot("b/gpu0"), slot("c/gpu0")]
    placement = infrastructure_aware(view(slots, [host("a"), host("b"), host("c")]))
    assert placement.workers == ("b/gpu0", "c/gpu0")


def test_leaves_slow_links_alone_when_gradients_are_large() -> None:
    slots = [slot("a/gpu0", 0.10), slot("b/gpu0", 0.11), slot("c/gpu0", 0.11)]
    hosts = [host("a", network_bytes_per_s=0.1 * GBIT_PER_S), host("b"), host("c")]
    assert infrastructure_aware(view(slots, hosts)).workers == ("b/gpu0", "c/gpu0")
    assert infrastructure_aware(view(slots, hosts, n_servers=0)).workers == ("b/gpu0", "c/gpu0")


def test_uses_two_cards_rather_than_two_dies_of_one() -> None:
    slots = [slot(f"a/gpu{i}", card=f"a/card{i // 2}", card_capacity=1.2) for i in range(4)]
    assert infrastructure_aware(view(slots, [host("a")])).workers == ("a/gpu0", "a/gpu2")


def test_passes_over_devices_without_memory() -> None:
    slots = [slot("a/gpu0", 0.01, free_bytes=4 * GIB), slot("b/gpu0"), slot("c/gpu0")]
    seen = view(slots, [host("a"), host("b"), host("c")], worker_bytes=8 * GIB)
    assert infrastructure_aware(seen).workers == ("b/gpu0", "c/gpu0")


def test_keeps_a_server_off_a_host_whose_cpu_worker_needs_the_memory() -> None:
    slots = [slot("a/cpu", 0.1, free_bytes=10 * GIB, uses_host_memory=True), slot("b/gpu0", 5.0)]
    hosts = [host("a", free_bytes=10 * GIB), host("b", network_bytes_per_s=GBIT_PER_S)]
    seen = view(slots, hosts, n_workers=1, worker_bytes=8 * GIB, server_bytes=3 * GIB)
    assert infrastructure_aware(seen) == Placement(("a/cpu",), ("b",))


def test_finds_hosts_for_servers_apart_from_many_full_ones() -> None:
    names = [f"h{i}" for i in range(30)]
    slots = [slot(f"{name}/cpu", 0.1, free_bytes=10 * GIB, uses_host_memory=True) for name in names]
    hosts = [host(name, free_bytes=10 * GIB) for name in names]
    placement = infrastructure_aware(view(slots, hosts, n_workers=4, worker_bytes=8 * GIB, server_bytes=3 * GIB))
    assert placement.servers[0] not in {name.split("/")[0] for name in placement.workers}


def test_says_why_nothing_is_possible() -> None:
    slots = [slot("a/gpu0"), slot("a/gpu1")]
    with pytest.raises(PlacementError, match=r"no choice of 2 of 2 usable devices .* apart from its workers"):
        infrastructure_aware(view(slots, [host("a")]), servers="separate")


def test_ties_go_to_the_order_of_the_spec() -> None:
    slots = [slot(f"{name}/gpu0") for name in "abcd"]
    hosts = [host(name, network_bytes_per_s=1e12) for name in "abcd"]
    assert infrastructure_aware(view(slots, hosts, gradient_bytes=0.0)) == Placement(("a/gpu0", "b/gpu0"), ("a",))


@pytest.mark.parametrize(("n_workers", "n_servers"), [(8, 2), (16, 1), (500, 8), (500, 0)])
def test_a_thousand_devices_need_a_modest_number_of_predictions(
    n_workers: int, n_servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = unequal(n_hosts=250, per_host=4, n_workers=n_workers, n_servers=n_servers, worker_bytes=0.0)
    predict, n_predicted = Predictor.step_s, []

    def counted(self: Predictor, workers: Sequence[SlotView], servers: Sequence[HostView]) -> float:
        n_predicted.append(len(workers))
        return predict(self, workers, servers)

    monkeypatch.setattr(Predictor, "step_s", counted)
    infrastructure_aware(seen)
    assert 1 <= len(n_predicted) <= 1000


def test_one_host_may_hold_several_servers() -> None:
    # a has ten times the network of the others: both servers there, beside two of the workers, is best.
    slots = [slot("a/gpu0"), slot("a/gpu1"), slot("b/gpu0"), slot("c/gpu0")]
    hosts = [host("a", network_bytes_per_s=100 * GBIT_PER_S), host("b"), host("c")]
    placement = infrastructure_aware(view(slots, hosts, n_workers=4, n_servers=2))
    assert placement.servers == ("a", "a")


def test_the_server_that_holds_most_goes_where_the_workers_reach_it() -> None:
    # VGG16 on two servers: round-robin by variable puts nearly all bytes on one of them
    slots = [slot("a/gpu0"), slot("a/gpu1"), slot("b/gpu0"), slot("b/gpu1")]
    hosts = [host("a", network_bytes_per_s=0.1e9), host("b", network_bytes_per_s=3e9), host("c")]
    for shard_frac, heavy in (((0.001, 0.999), 1), ((0.999, 0.001), 0)):
        seen = view(slots, hosts, n_servers=2, gradient_bytes=553e6, shard_frac=shard_frac)
        placement = infrastructure_aware(seen)
        assert {name.split("/")[0] for name in placement.workers} == {placement.servers[heavy]}
        assert predicted_s(seen, placement) == pytest.approx(best_s(seen))


def test_the_server_that_holds_most_goes_where_memory_holds_it() -> None:
    slots = [slot("a/gpu0"), slot("b/gpu0")]
    hosts = [host("a", free_bytes=2 * GIB), host("b", free_bytes=4 * GIB, network_bytes_per_s=GBIT_PER_S)]
    seen = view(slots, hosts, n_servers=2, server_bytes=4 * GIB, shard_frac=(0.9, 0.1))
    assert infrastructure_aware(seen).servers[0] == "b"


@pytest.mark.parametrize("servers", ["colocated", "separate"])
def test_many_unequal_servers_on_many_hosts_are_spread_by_what_they_hold(servers: Servers) -> None:
    shard_frac = (0.02, 0.5, 0.03, 0.2, 0.2, 0.05)
    slots = [slot(f"w{i}/gpu0") for i in range(6)]
    hosts = [host(f"p{i}", network_bytes_per_s=(1 + 4 * (i % 5 == 0)) * GBIT_PER_S) for i in range(25)]
    hosts += [host(f"w{i}", network_bytes_per_s=10 * GBIT_PER_S, cpu_available_frac=0.01) for i in range(6)]
    seen = view(slots, hosts, n_workers=6, n_servers=6, gradient_bytes=500e6, shard_frac=shard_frac)
    placement = infrastructure_aware(seen, servers=servers)
    # no server may leave a host of 5 Gbit/s that holds half of the bytes waiting
    assert predicted_s(seen, placement) <= 0.1 + 2 * 6 * 250e6 / (5 * GBIT_PER_S) + 0.005 + 1e-9


def test_servers_that_are_alike_are_ordered_and_others_stay() -> None:
    hosts = [host(name) for name in "abc"]
    seen = view([slot("a/gpu0")], hosts, n_workers=1, n_servers=3, shard_frac=(0.4, 0.2, 0.4))
    assert [each.name for each in in_order(seen, [hosts[2], hosts[1], hosts[0]])] == ["a", "b", "c"]
    assert [each.name for each in in_order(seen, [hosts[0], hosts[2], hosts[1]])] == ["a", "c", "b"]
