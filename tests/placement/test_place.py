import pytest
from views import GIB, host, slot, unequal, view, with_parameters

from hetsim.contracts import PlacementView
from hetsim.errors import PlacementError, PolicyError, UnknownNameError
from hetsim.model.placement import Placement
from hetsim.placement.capacity import host_bytes
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
        (["a/gpu0", "a/gpu1"], [], "write servers beside workers: the host of the parameter server"),
        (["a/gpu0", "a/gpu1"], ["a", "b"], "chose 2 hosts for 1 parameter servers"),
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
    assert caught.value.rule == "needs 14.2 GiB on k80-0/gpu0, which has 11.2 GiB free: 3.0 GiB short"


def test_too_little_host_memory_says_how_much() -> None:
    seen = view(SLOTS, [host("a", free_bytes=0.5 * GIB)], server_bytes=2 * GIB)
    with pytest.raises(PlacementError, match=r"needs 2.0 GiB on a, which has 512.0 MiB free: 1.5 GiB short"):
        place(with_parameters("default-tensorflow", {}), seen)


def test_each_server_needs_memory_for_its_share() -> None:
    hosts = [host("a", free_bytes=1.5 * GIB), host("b", free_bytes=1.5 * GIB)]
    needs = {"server_bytes": 2 * GIB, "n_servers": 2}
    job = with_parameters("explicit", {"workers": ["a/gpu0", "a/gpu1"], "servers": ["a", "b"]})
    assert place(job, view(SLOTS, hosts, **needs)).servers == ("a", "b")
    with pytest.raises(PlacementError, match=r"needs 1.8 GiB on b, which has 1.5 GiB free: 307.2 MiB short"):
        place(job, view(SLOTS, hosts, **needs, shard_frac=(0.1, 0.9)))


def test_small_amounts_are_readable() -> None:
    seen = view([slot("a/gpu0", free_bytes=1024.0)], [host("a")], n_workers=1, worker_bytes=10.0 * 2**20)
    with pytest.raises(PlacementError, match=r"needs 10.0 MiB on a/gpu0, which has 1.0 KiB free: 10.0 MiB short"):
        place(with_parameters("default-tensorflow", {}), seen)


def test_the_memory_of_hosts_that_a_placed_job_takes() -> None:
    slots = [slot("a/cpu", free_bytes=9 * GIB, uses_host_memory=True), slot("b/gpu0")]
    seen = view(slots, HOSTS, n_servers=2, server_bytes=4 * GIB, shard_frac=(0.25, 0.75))
    taken = host_bytes(seen, Placement(("a/cpu", "b/gpu0"), ("a", "b")))
    assert taken == {"a": 9 * GIB, "b": 3 * GIB}


def test_a_worker_on_a_cpu_and_a_server_share_the_hosts_memory() -> None:
    slots = [slot("a/cpu", free_bytes=10 * GIB, uses_host_memory=True)]
    seen = view(slots, [host("a", free_bytes=10 * GIB)], n_workers=1, worker_bytes=8 * GIB, server_bytes=3 * GIB)
    with pytest.raises(PlacementError, match=r"needs 11.0 GiB on a, which has 10.0 GiB free"):
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


def two_lists(view: PlacementView) -> Placement:
    return Placement(["h0/gpu0", "h0/gpu1"], ["h0"])  # type: ignore[arg-type]


ODD = {
    "number": Placement(5, None),  # type: ignore[arg-type]
    "nothing": Placement(("h0/gpu0", "h0/gpu1"), None),  # type: ignore[arg-type]
    "generator": Placement((name for name in ()), ()),  # type: ignore[arg-type]
    "text": Placement("ab", ()),  # type: ignore[arg-type]
    "unhashable": Placement(([1], [2]), ()),  # type: ignore[arg-type]
    "numbers": Placement(("h0/gpu0", 1), ()),  # type: ignore[arg-type]
}


def odd(view: PlacementView, *, which: str) -> Placement:
    return ODD[which]


@pytest.mark.parametrize(
    ("which", "rule"),
    [
        ("number", "workers must be a tuple of names, not a int"),
        ("nothing", "servers must be a tuple of names, not a NoneType"),
        ("generator", "workers must be a tuple of names, not a generator"),
        ("text", "workers must be a tuple of names, not a str"),
        ("unhashable", "workers[0] must be a name, not a list"),
        ("numbers", "workers[1] must be a name, not a int"),
    ],
)
def test_answers_that_hold_no_names_are_refused(which: str, rule: str) -> None:
    with pytest.raises(PolicyError) as caught:
        place(with_parameters(f"{__name__}:odd", {"which": which}), unequal())
    assert caught.value.rule == rule


class SomePlacement(Placement):
    """A class in place of a function: called with a view, it takes that for the workers."""


def test_a_class_of_placements_is_no_policy() -> None:
    with pytest.raises(PolicyError, match="workers must be a tuple of names, not a PlacementView"):
        place(with_parameters(f"{__name__}:SomePlacement", {}), unequal())


def test_lists_of_names_become_tuples() -> None:
    assert place(with_parameters(f"{__name__}:two_lists", {}), unequal()) == Placement(("h0/gpu0", "h0/gpu1"), ("h0",))


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
