"""What each policy's tree looks like."""

import pytest
from views import job, ranks

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.byteps import PARTITION_BYTES, byteps, shares
from hetsim.aggregation.halving_doubling import halving_doubling
from hetsim.aggregation.hierarchical import hierarchical
from hetsim.aggregation.ring import ring
from hetsim.aggregation.tree import tree
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
