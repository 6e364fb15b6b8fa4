"""Groups in groups: published costs, and trees that must equal simpler ones."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from clusters import CPU, GPU, known_job, placed, plan_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.cluster import Cluster, Device, Host, Link
from hetsim.model.plan import Plan
from hetsim.units import to_seconds

NIC = 1.25e9
BUS = 1e10
SIZE = 96_000_000


def hosts(
    n_gpus: Sequence[int], *, bus: float = BUS, nic: float = NIC, latency_s: float = 0.0, queue_bytes: float = 0.0
) -> Cluster:
    """Hosts on a switch, each with GPUs on links of their own."""
    found, links = [], []
    for i, n in enumerate(n_gpus):
        name = f"h{i}"
        gpus = tuple(Device(name=f"{name}/gpu{j}", host=name, card=f"{name}/card{j}", spec=GPU) for j in range(n))
        found.append(Host(name=name, devices=gpus, cpu=CPU, n_cores=16, memory_bytes=64e9))
        links += [Link(a=gpu.name, b=name, bytes_per_s=bus, latency_s=0.0) for gpu in gpus]
        links.append(Link(a=name, b="switch", bytes_per_s=nic, latency_s=latency_s, queue_bytes=queue_bytes))
    return Cluster(hosts=tuple(found), switches=("switch",), links=tuple(links))


def plan_for(cluster: Cluster, tree: Group, *, n_steps: int = 1, update_s: float = 0.0, compute_s: float = 0.0) -> Plan:
    workers = [device.name for device in cluster.devices]
    job = known_job([compute_s] * len(workers), [SIZE], n_servers=1, n_steps=n_steps, update_s=update_s)
    return plan_of(cluster, replace(placed(job, workers, ["h0"]), tree=tree))


def end_of(cluster: Cluster, tree: Group, **fields: float) -> int:
    return simulate(plan_for(cluster, tree, **fields), seed=0, replication=0).end


def time_s(cluster: Cluster, tree: Group, **fields: float) -> float:
    return to_seconds(end_of(cluster, tree, **fields))


def group(architecture: str, *members: Group | int, **fields: object) -> Group:
    nodes = tuple(Rank(member) if isinstance(member, int) else member for member in members)
    return Group(members=nodes, architecture=architecture, **fields)


def two_levels(inner: str, outer: str, sizes: Sequence[int], **fields: object) -> Group:
    first, members = 0, []
    for size in sizes:
        members.append(group(inner, *range(first, first + size)))
        first += size
    return group(outer, *members, **fields)


@pytest.mark.parametrize(("n", "g"), [(2, 2), (2, 4), (3, 2), (4, 4)])
@pytest.mark.parametrize("latency_s", [0.0, 25e-6])
@pytest.mark.parametrize("queue_bytes", [0.0, 1e6])
def test_a_ring_of_rings_costs_its_published_formula(n: int, g: int, latency_s: float, queue_bytes: float) -> None:
    # 2 (g - 1) / g S b_i + 2 (N - 1) (a_e + S / N b_e), where g ranks share a NIC: the phases of Horovod's hierarchical
    # all-reduce (horovod/common/ops/nccl_operations.cc), each at the cost of a ring (Thakur et al. 2005,
    # doi:10.1177/1094342005051521). Two GPU links lie between the GPUs of a host.
    tree = two_levels("ring", "ring", [g] * n)
    expected = 2 * (g - 1) / g * SIZE / BUS + 2 * (n - 1) * (2 * latency_s + SIZE / n / NIC)
    cluster = hosts([g] * n, latency_s=latency_s, queue_bytes=queue_bytes)
    assert time_s(cluster, tree) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("n", "g"), [(2, 2), (4, 4), (8, 2)])
def test_halving_and_doubling_inside_rings_and_the_other_way_round(n: int, g: int) -> None:
    # on equal links all four have the bandwidth term of the ring of rings: 2 (p - 1) / p on each level
    expected = 2 * (g - 1) / g * SIZE / BUS + 2 * (n - 1) / n * SIZE / NIC
    for inner in ("ring", "halving-doubling"):
        for outer in ("ring", "halving-doubling"):
            assert time_s(hosts([g] * n), two_levels(inner, outer, [g] * n)) == pytest.approx(expected, rel=1e-7)


def test_hosts_of_unequal_size_exchange_between_their_first_ranks() -> None:
    # Horovod falls back to reduce, all-reduce among roots, broadcast (nccl_operations.cc). A chain of two members is
    # one message each way; of three, 64 pieces that follow each other: (n - 2 + k) / k S b. The smaller host is ready
    # first, and what it sends meets the last piece on the larger one's first GPU.
    tree = two_levels("ring", "ring", [2, 3])
    plan = plan_for(hosts([2, 3]), tree)
    chain = (3 - 2 + 64) / 64 * SIZE / BUS
    got = to_seconds(simulate(plan, seed=0, replication=0).end)
    assert got == pytest.approx(2 * chain + SIZE / NIC, rel=1e-3)
    assert plan.choices == (
        "train: ring all-reduce of 5 ranks, message by message, over 2 members: ring with 2 ranks; ring with 3 ranks; "
        "sums with the leader of each",
    )


def test_three_levels_of_rings() -> None:
    # two hosts a rack, two GPUs a host: parts of a quarter of the bytes cross between racks, four at a time
    cluster = hosts([2, 2, 2, 2])
    rack = [group("ring", group("ring", 4 * i, 4 * i + 1), group("ring", 4 * i + 2, 4 * i + 3)) for i in range(2)]
    expected = SIZE / BUS + SIZE / NIC + SIZE / 2 / NIC
    assert time_s(cluster, group("ring", *rack)) == pytest.approx(expected, rel=1e-7)


FLAT = {
    "ring": group("ring", *range(4)),
    "tree": group("tree", *range(4)),
    "halving-doubling": group("halving-doubling", *range(4)),
    "parameter-server": group("parameter-server", *range(4), servers=("h0", "h3")),
}


@pytest.mark.parametrize("architecture", FLAT)
@pytest.mark.parametrize("inner", ["ring", "tree", "halving-doubling"])
@pytest.mark.parametrize("queue_bytes", [0.0, 1e6])
def test_groups_of_one_member_are_transparent(architecture: str, inner: str, queue_bytes: float) -> None:
    flat = FLAT[architecture]
    cluster = hosts([1, 2, 1], latency_s=1e-5, queue_bytes=queue_bytes)
    expected = simulate(plan_for(cluster, flat, n_steps=3, update_s=0.001), seed=0, replication=0)
    nested = replace(flat, members=tuple(group(inner, group(inner, rank)) for rank in range(4)))
    trees = [nested, group("ring", flat), group(inner, group(inner, nested))]
    for tree in trees:
        got = simulate(plan_for(cluster, tree, n_steps=3, update_s=0.001), seed=0, replication=0)
        assert (got.end, got.n_events) == (expected.end, expected.n_events)
        assert got.carried.tolist() == expected.carried.tolist()


@pytest.mark.parametrize("architecture", ["ring", "tree", "halving-doubling"])
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("queue_bytes", [0.0, 1e6])
def test_groups_that_cost_nothing_inside_equal_the_flat_form_over_hosts(
    architecture: str, n: int, queue_bytes: float
) -> None:
    free = {"bus": 1e18, "queue_bytes": queue_bytes}
    flat = time_s(hosts([1] * n, **free), group(architecture, *range(n)))
    nested = time_s(hosts([2] * n, **free), two_levels(architecture, architecture, [2] * n))
    assert nested == pytest.approx(flat, rel=1e-6)


def test_servers_take_one_push_from_each_group() -> None:
    # N S / B in and out of the server's NIC, beside the chains inside: tf_cnn_benchmarks, performance_models.md; the
    # groups are on hosts of their own
    cluster = hosts([2, 2, 2, 0])
    tree = two_levels("ring", "parameter-server", [2, 2, 2], servers=("h3",))
    got = time_s(cluster, tree, n_steps=2, update_s=0.01, compute_s=0.1)
    expected = 2 * (2 * 3 * SIZE / NIC + 0.1 + 0.01 + 2 * SIZE / BUS)
    assert got == pytest.approx(expected, rel=0.02)


def test_servers_inside_groups_exchange_around_a_ring() -> None:
    # each group: pushes and pulls 2 S / B; then a ring of the two servers, 2 (2 - 1) / 2 S / B
    cluster = hosts([1, 1, 1, 1, 0, 0])
    tree = group(
        "ring",
        group("parameter-server", 0, 1, servers=("h4",)),
        group("parameter-server", 2, 3, servers=("h5",)),
    )
    got = time_s(cluster, tree, n_steps=3, update_s=0.01, compute_s=0.1)
    assert got == pytest.approx(3 * (2 * 2 * SIZE / NIC + SIZE / NIC + 0.1 + 0.01), rel=1e-6)


def test_servers_of_servers_pass_sums_up_and_parameters_down() -> None:
    # pushes of two ranks, of two servers, and both ways back; only the servers at the top apply
    cluster = hosts([1, 1, 1, 1, 0, 0, 0])
    tree = group(
        "parameter-server",
        group("parameter-server", 0, 1, servers=("h4",)),
        group("parameter-server", 2, 3, servers=("h5",)),
        servers=("h6",),
    )
    got = time_s(cluster, tree, n_steps=2, update_s=0.01, compute_s=0.1)
    assert got == pytest.approx(2 * (2 * (2 * SIZE + 2 * SIZE) / NIC + 0.1 + 0.01), rel=1e-6)


def test_groups_with_unlike_servers_exchange_between_one_of_each() -> None:
    # two servers of one group gather on the first, which exchanges with the only one of the other, and scatter again
    cluster = hosts([1, 1, 0, 0, 0])
    tree = group(
        "ring",
        group("parameter-server", 0, servers=("h2", "h3"), sharding="even"),
        group("parameter-server", 1, servers=("h4",)),
    )
    plan = plan_for(cluster, tree)
    run = simulate(plan, seed=0, replication=0)
    # pull and push of S; gather S/2; ring of two S; scatter S/2. The group of one server is ready first, so that half a
    # message of the ring meets what is gathered.
    least = (1 + 1 + 0.5 + 1 + 0.5) * SIZE / NIC
    assert least * (1 - 1e-9) <= to_seconds(run.end) <= (least + 0.5 * SIZE / NIC) * (1 + 1e-9)
    carried = dict(zip((each.name for each in plan.resources), run.carried.tolist(), strict=True))
    assert carried["h2>switch"] == pytest.approx((0.5 + 1 + 0.5) * SIZE)  # pulled, around the ring, scattered
    assert carried["h3>switch"] == pytest.approx((0.5 + 0.5) * SIZE)  # pulled, gathered
    assert carried["h4>switch"] == pytest.approx((1 + 1) * SIZE)


def test_a_ring_may_mix_ranks_and_groups() -> None:
    cluster = hosts([1, 2])
    tree = group("ring", 0, group("ring", 1, 2))
    # the lone rank's first message meets the chain of the pair on its leader's link
    assert time_s(cluster, tree) == pytest.approx(2 * SIZE / BUS + SIZE / NIC, rel=0.02)


def trees(first: int, n: int, depth: int) -> st.SearchStrategy[Group | Rank]:
    """Trees over the ranks from one number on."""
    if n == 1 and depth == 0:
        return st.just(Rank(first))

    @st.composite
    def some(draw: st.DrawFn) -> Group | Rank:
        if depth == 0:
            members: list[Group | Rank] = [Rank(first + i) for i in range(n)]
        else:
            cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=3))) if n > 1 else []
            bounds = [0, *cuts, n]
            members = [draw(trees(first + a, b - a, draw(st.integers(0, depth - 1)))) for a, b in pairwise(bounds)]
        architecture = draw(st.sampled_from(["ring", "tree", "halving-doubling", "parameter-server"]))
        fields: dict[str, object] = {}
        if architecture == "parameter-server":
            fields = {"servers": draw(st.sampled_from([("h0",), ("h1", "h3"), ("h2",)])), "sharding": "even"}
        elif architecture == "ring":
            fields = {"messages": draw(st.sampled_from(["auto", "composite"]))}
        return Group(members=tuple(members), architecture=architecture, **fields)

    return some()


@settings(max_examples=40, deadline=None)
@given(trees(0, 6, 3), st.integers(0, 1), st.sampled_from([0.0, 1e6, 1e9]))
def test_every_tree_runs_and_repeats_its_bytes(tree: Group | Rank, slow: int, queue_bytes: float) -> None:
    root = tree if isinstance(tree, Group) else Group(members=(tree,), architecture="ring")
    cluster = hosts([2, 1, 2, 1], nic=NIC / (1 + 3 * slow), latency_s=1e-5, queue_bytes=queue_bytes)
    one = simulate(plan_for(cluster, root, update_s=0.001), seed=0, replication=0)
    plan = plan_for(cluster, root, n_steps=3, update_s=0.001)
    three = simulate(plan, seed=0, replication=0)
    assert three.carried.tolist() == pytest.approx((3 * one.carried).tolist())
    for resource, carried in zip(plan.resources, three.carried.tolist(), strict=True):
        if resource.kind == "link":
            assert carried <= resource.capacity * three.end * (1 + 1e-9)
