import pytest
from views import GIB, host, slot, view

from hetsim.errors import PlacementError
from hetsim.model.placement import Placement
from hetsim.placement.default_tensorflow import default_tensorflow
from hetsim.placement.random import random
from hetsim.placement.round_robin import round_robin

HOSTS = [host("a"), host("b"), host("c")]
SLOTS = [slot(f"{name}/gpu{i}", available_frac=0.1 if name == "a" else 1.0) for name in "abc" for i in range(2)]


def test_default_takes_the_order_of_the_spec_blind_to_load() -> None:
    assert default_tensorflow(view(SLOTS, HOSTS, n_workers=3)) == Placement(("a/gpu0", "a/gpu1", "b/gpu0"), ("a",))


def test_default_is_blind_to_memory_too() -> None:
    small = [slot("a/gpu0", free_bytes=1.0), *SLOTS[1:]]
    assert default_tensorflow(view(small, HOSTS)).workers == ("a/gpu0", "a/gpu1")


def test_default_passes_over_taken_devices() -> None:
    slots = [slot("a/gpu0", taken=True), *SLOTS[1:]]
    assert default_tensorflow(view(slots, HOSTS)).workers == ("a/gpu1", "b/gpu0")


def test_separate_servers_hold_no_worker() -> None:
    seen = view(SLOTS, HOSTS, n_workers=3)
    assert default_tensorflow(seen, servers="separate") == Placement(("a/gpu0", "a/gpu1", "b/gpu0"), ("c",))
    with pytest.raises(PlacementError, match=r"needs 1 hosts that hold none of its workers .* of 3 there are 0"):
        default_tensorflow(view(SLOTS, HOSTS, n_workers=5), servers="separate")


def test_too_few_devices_are_counted() -> None:
    slots = [slot("a/gpu0", taken=True), slot("a/gpu1", free_bytes=1 * GIB), slot("a/gpu2")]
    with pytest.raises(PlacementError, match="needs 3 devices, and of 3 devices 2 are free, 1 with enough memory"):
        default_tensorflow(view(slots, HOSTS, n_workers=3))


def test_random_follows_the_draws() -> None:
    draws = [0.9, 0.8, 0.7, 0.1, 0.2, 0.3, 0.6, 0.1, 0.5]
    assert random(view(SLOTS, HOSTS, draws=draws)) == Placement(("b/gpu1", "c/gpu0"), ("b",))


def test_random_separate_leaves_enough_devices() -> None:
    draws = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.3, 0.1, 0.2]
    seen = view(SLOTS, HOSTS, draws=draws, n_workers=4)
    assert random(seen, servers="separate") == Placement(("a/gpu0", "a/gpu1", "c/gpu0", "c/gpu1"), ("b",))


def test_random_uses_every_device_over_many_draws() -> None:
    import numpy as np

    generator = np.random.Generator(np.random.Philox(3))
    seen = {random(view(SLOTS, HOSTS, draws=generator.random(9), n_workers=1)).workers for _ in range(200)}
    assert len(seen) == len(SLOTS)


def test_random_and_round_robin_want_enough_memory() -> None:
    small = [slot("a/gpu0", free_bytes=1.0), *SLOTS[1:]]
    for policy in (random, round_robin):
        assert "a/gpu0" not in policy(view(small, HOSTS, n_workers=5)).workers


def test_round_robin_takes_one_of_each_host_in_turn() -> None:
    workers = ("a/gpu0", "b/gpu0", "c/gpu0", "a/gpu1")
    assert round_robin(view(SLOTS, HOSTS, n_workers=4, n_servers=2)) == Placement(workers, ("a", "b"))


def test_round_robin_separate_prefers_hosts_without_devices() -> None:
    seen = view(SLOTS, [*HOSTS, host("d")], n_workers=3, n_servers=2)
    assert round_robin(seen, servers="separate") == Placement(("b/gpu0", "c/gpu0", "b/gpu1"), ("d", "a"))
