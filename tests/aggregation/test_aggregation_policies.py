"""What each policy's tree looks like."""

from dataclasses import replace

import pytest
from views import job, ranks

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.ashl import ashl, local_steps
from hetsim.aggregation.byteps import PARTITION_BYTES, byteps, shares
from hetsim.aggregation.esync import esync
from hetsim.aggregation.gossip import gossip
from hetsim.aggregation.grouped_ssp import grouped_ssp
from hetsim.aggregation.halving_doubling import halving_doubling
from hetsim.aggregation.hierarchical import hierarchical
from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.partial import partial
from hetsim.aggregation.ring import ring
from hetsim.aggregation.tree import tree
from hetsim.contracts import AggregationView
from hetsim.errors import PolicyError
from hetsim.model.aggregation import Group, Rank
from hetsim.model.job import PolicyChoice


def pair(a: int, b: int, architecture: str = "ring") -> Group:
    return Group(members=(Rank(a), Rank(b)), architecture=architecture)


def test_flat_policies_hold_all_ranks_in_order() -> None:
    for policy, architecture in ((tree, "tree"), (halving_doubling, "halving-doubling"), (ring, "ring")):
        found = policy(ranks("a", "b", "a"))
        assert (found.members, found.architecture) == ((Rank(0), Rank(1), Rank(2)), architecture)
    assert ring(ranks("a", "b"), messages="composite").messages == "composite"


def test_hierarchical_groups_ranks_by_host() -> None:
    found = hierarchical(ranks("b", "a", "b", "a", "c"), inner="tree", outer="halving-doubling")
    assert found == Group(members=(pair(0, 2, "tree"), pair(1, 3, "tree"), Rank(4)), architecture="halving-doubling")


def test_hierarchical_on_one_host_or_on_single_ranks_is_flat() -> None:
    assert hierarchical(ranks("a", "a")) == Group(members=(pair(0, 1),), architecture="ring")
    assert hierarchical(ranks("a", "b")) == Group(members=(Rank(0), Rank(1)), architecture="ring")


ALL = (Rank(0), Rank(1), Rank(2), Rank(3))
FOUR = ranks("a", "b", "a", "c", servers=("s", "t"))


def refused(policy: str, view: AggregationView = FOUR, **parameters: object) -> str:
    with pytest.raises(PolicyError) as caught:
        aggregate(job(aggregation=PolicyChoice(policy=policy, parameters=parameters)), view)
    return caught.value.rule


def test_parameter_servers_of_every_kind() -> None:
    served = Group(members=ALL, architecture="parameter-server", servers=("s", "t"))
    assert parameter_server(FOUR) == served
    for fields in (
        {"sync": "async", "steps": "shared"},
        {"sync": "ssp", "staleness": 2},
        {"sync": "local", "period": 8, "local_after": 4},
        {"quorum": 3, "late": "apply", "sharding": "even"},
    ):
        assert parameter_server(FOUR, **fields) == replace(served, **fields)


def test_all_reduces_once_in_a_period() -> None:
    fields = {"sync": "local", "period": 8, "local_after": 4}
    for policy, architecture in ((tree, "tree"), (halving_doubling, "halving-doubling"), (ring, "ring")):
        assert policy(FOUR, **fields) == Group(members=ALL, architecture=architecture, **fields)


def test_partial_averages_in_small_groups() -> None:
    assert partial(FOUR, group_size=3) == Group(members=ALL, architecture="ring", sync="partial", group_size=3)
    assert partial(ranks("a")) == Group(members=(Rank(0),), architecture="ring")
    assert refused("partial", group_size=5) == "aggregation.group_size: must be 2 to 4, the number of members, not 5"


def test_gossip_with_any_graph() -> None:
    fields = {"sync": "local", "graph": ((0, 1), (1, 2), (2, 3)), "period": 2, "local_after": 1}
    assert gossip(FOUR, **fields) == Group(members=ALL, architecture="gossip", **fields)
    assert refused("gossip", graph=((0, 1),)) == (
        "aggregation.graph: is not connected: no way leads from member 0 to 2, 3"
    )


def test_hierarchical_in_multi_level_local_sgd() -> None:
    # tau and q of github.com/rpi-nsl/MLL-SGD; a host of one device makes its local steps too
    tau = {"sync": "local", "period": 4}
    inner = (replace(pair(0, 2), **tau), *(Group(members=(Rank(rank),), architecture="ring", **tau) for rank in (1, 3)))
    fields = {"sync": "local", "period": 8, "local_after": 16}
    assert hierarchical(FOUR, inner_period=4, **fields) == Group(members=inner, architecture="ring", **fields)
    assert hierarchical(FOUR, outer="gossip", graph="line", inner_period=4) == Group(
        members=inner, architecture="gossip", graph="line"
    )


def test_hierarchical_with_servers_between_hosts() -> None:
    members = (pair(0, 2, "tree"), Rank(1), Rank(3))
    assert hierarchical(
        FOUR, inner="tree", outer="parameter-server", sync="ssp", staleness=1, sharding="even"
    ) == Group(
        members=members,
        architecture="parameter-server",
        sync="ssp",
        staleness=1,
        servers=("s", "t"),
        sharding="even",
    )


def test_hierarchical_in_groups_of_any_number() -> None:
    seen = ranks(*"abcdefg")
    assert hierarchical(seen, groups=3).members == (
        Group(members=(Rank(0), Rank(1), Rank(2)), architecture="ring"),
        pair(3, 4),
        pair(5, 6),
    )
    assert hierarchical(seen, groups=7).members == tuple(map(Rank, range(7)))
    assert refused("hierarchical", groups=5) == "raised ValueError: groups is 5, but 4 ranks can be in 1 to 4 groups"


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"sync": "async"}, "raised ValueError: sync async goes with outer parameter-server, but outer is 'ring'"),
        (
            {"outer": "gossip", "sync": "ssp"},
            "raised ValueError: sync ssp goes with outer parameter-server, but outer is",
        ),
        (
            {"sharding": "even"},
            "raised ValueError: sharding even goes with outer parameter-server, but outer is 'ring'",
        ),
        ({"graph": "ring"}, "raised ValueError: graph goes with outer gossip, but outer is 'ring'"),
        ({"inner_period": 0}, "raised ValueError: inner_period is 0, but it is one step at least"),
        ({"period": 2}, "aggregation.period: goes with sync local, but sync is 'bsp'"),
        ({"staleness": 2}, "aggregation.staleness: goes with sync ssp, but sync is 'bsp'"),
    ],
)
def test_parameters_of_hierarchical_that_have_no_meaning(parameters: dict[str, object], rule: str) -> None:
    assert refused("hierarchical", **parameters).startswith(rule)


def unequal(compute_s: tuple[float, ...], available_frac: tuple[float, ...] = ()) -> AggregationView:
    seen = ranks(*(f"h{i}" for i in range(len(compute_s))), servers=("s", "t", "u"))
    shares = available_frac or (1.0,) * len(compute_s)
    found = zip(seen.ranks, compute_s, shares, strict=True)
    return replace(
        seen,
        ranks=tuple(replace(rank, compute_s=seconds, available_frac=share) for rank, seconds, share in found),
        gradient_bytes=125e6,
    )


def served(members: tuple[int, ...], *servers: str) -> Group:
    return Group(
        members=tuple(map(Rank, members)), architecture="parameter-server", sync="ssp", staleness=3, servers=servers
    )


def test_grouped_ssp_puts_workers_of_one_speed_together() -> None:
    # 0.1 s, 0.4 s (0.2 s on half of a device), 0.3 s, 0.1 s, and one that gets nothing
    seen = unequal((0.1, 0.2, 0.3, 0.1, 0.1), (1.0, 0.5, 1.0, 1.0, 0.0))
    assert grouped_ssp(seen, groups=2) == Group(
        members=(served((0, 2, 3), "s", "u"), served((1, 4), "t")), architecture="gossip", sync="async", period=4
    )
    assert grouped_ssp(seen).members == (served((0, 3), "s"), served((1, 2), "t"), served((4,), "u"))
    assert grouped_ssp(unequal((0.1,))).members == (served((0,), "s", "t", "u"),)


def test_grouped_ssp_needs_servers_and_workers_for_each_group() -> None:
    assert refused("grouped-ssp", groups=3) == (
        "raised ValueError: groups is 3, but servers is 2, and each group needs one"
    )
    few = ranks("a", servers=("s", "t"))
    assert refused("grouped-ssp", few, groups=2) == (
        "raised ValueError: groups is 2, but 1 ranks can be in 1 to 1 groups"
    )
    assert refused("grouped-ssp", ranks("a", "b")).startswith("raised ValueError: groups is 1, but servers is 0")


def test_ashl_lets_all_workers_end_together() -> None:
    # 1 s each way at 1 Gbit/s: x = 2 * 4 + 2 = 10 s, H = round(8 / c)
    assert local_steps(unequal((4.0, 2.0, 1.0, 3.0), (1.0, 1.0, 1.0, 1.0)), 2.0) == (2, 4, 8, 3)
    assert local_steps(unequal((2.0, 2.0), (0.5, 1.0)), 8.0) == (8, 16)
    # on a server's host a third of the bytes takes no way: 2 s and 4 / 3 s, x = 2 + 2, H = round((x - 4 / 3) / 0.5)
    near = unequal((1.0, 0.5))
    near = replace(near, ranks=(near.ranks[0], replace(near.ranks[1], host="s")))
    assert local_steps(near, 2.0) == (2, 5)
    found = ashl(unequal((0.4, 0.1)), sharding="even")
    assert found == Group(
        members=ALL[:2],
        architecture="parameter-server",
        sync="local",
        period=(2, 8),
        servers=("s", "t", "u"),
        sharding="even",
    )


def test_esync_asks_a_state_server() -> None:
    assert esync(FOUR, margin_s=0.25) == Group(
        members=ALL, architecture="parameter-server", sync="state-server", margin_s=0.25, servers=("s", "t")
    )


@pytest.mark.parametrize(
    ("view", "k", "rule"),
    [
        (unequal((0.1, 0.1)), 0.5, "k is 0.5, but the slowest worker makes one step at least"),
        (unequal((0.1, 0.0)), 2.0, "rank 1 takes 0 s for a step on 1 of its device, so no number of steps balances it"),
        (unequal((0.1, 0.2), (0.0, 1.0)), 2.0, "rank 0 takes 0.1 s for a step on 0 of its device, so no number of"),
        (
            replace(unequal((0.1,)), path_bytes_per_s=lambda a, b: 0.0),
            2.0,
            "no bytes get from some worker to some server, so no number of steps balances it",
        ),
    ],
)
def test_ashl_without_a_balance(view: AggregationView, k: float, rule: str) -> None:
    assert refused("ashl", view, k=k).startswith(f"raised ValueError: {rule}")


def test_byteps_serves_from_worker_hosts_and_from_further_ones() -> None:
    found = byteps(ranks("a", "a", "b", "b", servers=("b", "x")))
    assert found == Group(
        members=(pair(0, 1), pair(2, 3)),
        architecture="parameter-server",
        servers=("a", "b", "x"),
        sharding=(0.25, 0.25, 0.5),
        partition_bytes=PARTITION_BYTES,
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("k", range(10))
def test_shares_sum_to_one(n: int, k: int) -> None:
    on_worker, on_further = shares(n, k)
    assert n * on_worker + k * on_further == pytest.approx(1.0)
    assert min(on_worker, on_further) >= 0.0


def test_byteps_refuses_partitions_without_bytes() -> None:
    choice = PolicyChoice(policy="byteps", parameters={"partition_bytes": 0})
    with pytest.raises(PolicyError, match="partition_bytes is 0, but a partition has a byte at least"):
        aggregate(job(aggregation=choice), ranks("a", "b", servers=("a",)))


def test_a_tree_of_the_scenario_numbers_the_servers_of_its_job() -> None:
    given = Group(
        members=(Group(members=(Rank(1),), architecture="parameter-server", servers=("1",)), Rank(0)),
        architecture="parameter-server",
        servers=("0", "1"),
    )
    found = aggregate(job(aggregation=given), ranks("a", "b", servers=("x", "y")))
    assert found.servers == ("x", "y")
    assert isinstance(found.members[0], Group)
    assert found.members[0].servers == ("y",)
    with pytest.raises(PolicyError, match=r"policy 'tree', job 'train': aggregation\.members: without rank 2"):
        aggregate(job(aggregation=given), ranks("a", "b", "c", servers=("x", "y")))
