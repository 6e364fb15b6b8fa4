import pytest
from views import GIB, host, slot, unequal, view, with_parameters

from hetsim.contracts import PlacementView
from hetsim.errors import PlacementError, PolicyError, UnknownNameError
from hetsim.model.placement import Placement
from hetsim.placement.place import place

HOSTS = [host("a"), host("b")]
SLOTS = [slot("a/gpu0"), slot("a/gpu1"), slot("b/gpu0", taken=True)]


def explicit(workers: object, servers: object = ("a",)) -> Placement:
    job = with_parameters("explicit", {"workers": workers, "servers": servers})
    return place(job, view(SLOTS, HOSTS))


def test_named_devices_in_the_order_given() -> None:
    assert explicit(["a/gpu1", "a/gpu0"]) == Placement(("a/gpu1", "a/gpu0"), ("a",))


@pytest.mark.parametrize(
    ("workers", "servers", "rule"),
    [
        (["a/gpu0"], ["a"], "chose 1 devices for 2 workers"),
        (["a/gpu0", "a/gpu0"], ["a"], "put two workers on a/gpu0"),
        (["a/gpu0", "a/gpu9"], ["a"], "the cluster has no device 'a/gpu9'; did you mean "),
        (["a/gpu0", "b/gpu0"], ["a"], "another job already holds b/gpu0"),
        (["a/gpu0", "a/gpu1"], [], "chose 0 hosts for 1 parameter servers"),
        (["a/gpu0", "a/gpu1"], ["x"], "the cluster has no host 'x'"),
    ],
)
def test_wrong_answers_are_refused(workers: list[str], servers: list[str], rule: str) -> None:
    with pytest.raises(PolicyError) as caught:
        explicit(workers, servers)
    assert caught.value.rule.startswith(rule)
    assert str(caught.value).startswith("policy 'explicit', job 'train': ")


def test_too_little_device_memory_says_how_much() -> None:
    slots = [slot("k80-0/gpu0", free_bytes=11.2 * GIB)]
    seen = view(slots, [host("k80-0")], n_workers=1, worker_bytes=14.2 * GIB)
    with pytest.raises(PlacementError) as caught:
        place(with_parameters("default-tensorflow", {}), seen)
    assert caught.value.rule == "needs 14.2 GiB on k80-0/gpu0, which has 11.2 GiB: 3.0 GiB short"


def test_too_little_host_memory_says_how_much() -> None:
    seen = view(SLOTS, [host("a", free_bytes=0.5 * GIB)], server_bytes=2 * GIB)
    with pytest.raises(PlacementError, match=r"needs 2.0 GiB on a, which has 0.5 GiB: 1.5 GiB short"):
        place(with_parameters("default-tensorflow", {}), seen)


def test_a_worker_on_a_cpu_and_a_server_share_the_hosts_memory() -> None:
    slots = [slot("a/cpu", free_bytes=10 * GIB, uses_host_memory=True)]
    seen = view(slots, [host("a", free_bytes=10 * GIB)], n_workers=1, worker_bytes=8 * GIB, server_bytes=3 * GIB)
    with pytest.raises(PlacementError, match=r"needs 11.0 GiB on a, which has 10.0 GiB"):
        place(with_parameters("default-tensorflow", {}), seen)


def test_hosts_that_cannot_reach_each_other_are_refused() -> None:
    slots = [slot("a/gpu0"), slot("b/gpu0")]
    apart = view(slots, [host("a"), host("b", network_bytes_per_s=0.0)])
    with pytest.raises(PlacementError, match="nothing gets through from b to a"):
        place(with_parameters("default-tensorflow", {}), apart)
    ring = view(slots, [host("a"), host("b", network_bytes_per_s=0.0)], n_servers=0)
    with pytest.raises(PlacementError, match="nothing gets through from a to b"):
        place(with_parameters("default-tensorflow", {}), ring)


def raises(view: PlacementView) -> Placement:
    raise ZeroDivisionError("no reason")


def answers_text(view: PlacementView) -> str:
    return "a/gpu0"


def takes_options(view: PlacementView, *, depth: int = 1) -> Placement:
    return Placement(tuple(slot.device for slot in view.slots[: 1 + depth]), ("h0",))


@pytest.mark.parametrize(
    ("function", "parameters", "rule"),
    [
        ("raises", {}, "raised ZeroDivisionError: no reason"),
        ("answers_text", {}, "returned a str, not a Placement"),
        ("takes_options", {"width": 2}, "raised TypeError: takes_options() got an unexpected keyword argument 'width'"),
        ("HOSTS", {}, "a list is no function of a view"),
    ],
)
def test_failures_of_a_policy_are_its_own(function: str, parameters: dict[str, object], rule: str) -> None:
    policy = f"{__name__}:{function}"
    with pytest.raises(PolicyError) as caught:
        place(with_parameters(policy, parameters), unequal())
    assert (caught.value.policy, caught.value.rule) == (policy, rule)


def test_a_policy_at_a_dotted_path_gets_its_parameters() -> None:
    placement = place(with_parameters(f"{__name__}:takes_options", {"depth": 1}), unequal())
    assert placement == Placement(("h0/gpu0", "h0/gpu1"), ("h0",))


def test_an_unknown_policy_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'round-robin'"):
        place(with_parameters("round_robbin", {}), unequal())
