"""Aggregation on two levels: inside of hosts, or of other groups, then between them."""

from collections.abc import Mapping
from typing import Final, Literal

from hetsim.aggregation.hosts import groups_by_host, groups_in_order
from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group

SERVERS: Final = "parameter-server"


def hierarchical(
    view: AggregationView,
    *,
    sync: Literal["bsp", "async", "ssp", "local"] = "bsp",
    inner: Literal["ring", "tree", "halving-doubling"] = "ring",
    outer: Literal["ring", "tree", "halving-doubling", "parameter-server", "gossip"] = "ring",
    staleness: int = 0,
    inner_period: int = 1,
    period: int = 1,
    local_after: int = 0,
    groups: int = 0,
    graph: Literal["complete", "ring", "line"] | tuple[tuple[int, int], ...] = "complete",
    sharding: Literal["round-robin", "even"] = "round-robin",
) -> Group:
    """Combine gradients inside of each host first, then between hosts, in every step or on each level once in a while.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    sync : {"bsp", "async", "ssp", "local"}
        Between hosts: after each exchange inside (bsp), after several (local), or without waiting for other hosts
        (async, and ssp for those that are not too far ahead), which needs parameter servers.
    inner : {"ring", "tree", "halving-doubling"}
        Inside of hosts.
    outer : {"ring", "tree", "halving-doubling", "parameter-server", "gossip"}
        Between them. Where hosts have equally many ranks, and the inner one can leave each of them its part of the sum
        (a ring can, halving and doubling where they are a power of two), all-reduces exchange parts side by side; else
        each host's first rank exchanges for it (Horovod's hierarchical all-reduce,
        horovod/common/ops/nccl_operations.cc). With parameter servers each host is one client (Mamidala et al. 2018,
        MXNET-MPI, arXiv 1801.03855).
    staleness : int
        Of ssp: exchanges by which hosts may be apart.
    inner_period : int
        Steps between two exchanges inside of a host, which then are of parameters.
    period : int
        Of local: exchanges inside for each one between hosts. With both periods this is multi-level local SGD
        (Castiglia et al. 2021, ICLR; tau and q of github.com/rpi-nsl/MLL-SGD).
    local_after : int
        Of local: so many first steps exchange gradients on both levels.
    groups : int
        Instead of hosts: so many groups of ranks in their order, of equal size. Zero: hosts.
    graph : {"complete", "ring", "line"} or list of pairs of groups
        Of gossip: who is a neighbour.
    sharding : {"round-robin", "even"}
        Of parameter servers: whole variables in creation order, or equal shares of the bytes.

    Returns
    -------
    Group
        A group of groups; flat where no host, or only one, holds several ranks.

    Raises
    ------
    ValueError
        If a parameter has no meaning with another one.
    """
    if inner_period < 1:
        raise ValueError(f"inner_period is {inner_period}, but it is one step at least")
    for what, is_given, needed in (
        (f"sync {sync}", sync in {"async", "ssp"}, SERVERS),
        (f"sharding {sharding}", sharding != "round-robin", SERVERS),
        ("graph", graph != "complete", "gossip"),
    ):
        if is_given and outer != needed:
            raise ValueError(f"{what} goes with outer {needed}, but outer is {outer!r}")
    if groups:
        members = groups_in_order(view, groups, inner, period=inner_period)
    else:
        members = groups_by_host(view, inner, period=inner_period)
    return Group(
        members=members,
        architecture=outer,
        sync=sync,
        staleness=staleness,
        period=period,
        local_after=local_after,
        graph=graph,
        servers=view.servers if outer == SERVERS else (),
        sharding=sharding,
    )


def needs_servers(parameters: Mapping[str, object]) -> bool:
    """Return whether there are parameter servers between hosts.

    Parameters
    ----------
    parameters : mapping
        Of the policy.

    Returns
    -------
    bool
        As ``outer`` says.
    """
    return parameters["outer"] == SERVERS
