"""Which fields of a tree go together, and that every tree that is allowed can be run."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st
from schemes import mutated_trees, scheme_trees

from hetsim.aggregation.checks import flaws_of
from hetsim.aggregation.schemes import MOST
from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.result import PlanRun

SERVERS = ("h0", "h1")
N_RANKS = 4


def group(architecture: str, *members: Group | int, **fields: object) -> Group:
    nodes = tuple(Rank(member) if isinstance(member, int) else member for member in members)
    servers = {"servers": SERVERS[:1]} if architecture == "parameter-server" else {}
    return Group(members=nodes, architecture=architecture, **(servers | fields))


def flat(architecture: str, **fields: object) -> Group:
    return group(architecture, *range(N_RANKS), **fields)


def pairs(architecture: str, first: Group, second: Group, **fields: object) -> Group:
    return group(architecture, first, second, **fields)


def two(architecture: str, *, outer: str = "ring", inner: dict[str, object] | None = None, **fields: object) -> Group:
    """A group of two groups of two."""
    members = [group(architecture, *ranks, **(inner or {})) for ranks in ((0, 1), (2, 3))]
    return pairs(outer, *members, **fields)


def found(tree: Group) -> list[str]:
    return [str(flaw).removeprefix("aggregation.") for flaw in flaws_of(tree, N_RANKS, SERVERS)]


TELLERS = "either all members of an async gossip are ranks, or all are parameter servers of sync async or ssp"
LOCAL = {"sync": "local", "period": 2}
PUSHING = {"sync": "ssp", "staleness": 3}
ALLOWED = {
    "async": flat("parameter-server", sync="async"),
    "shared": flat("parameter-server", sync="async", steps="shared"),
    "ssp": flat("parameter-server", sync="ssp", staleness=0),
    "ssp of rings": two("ring", outer="parameter-server", **PUSHING),
    "async of local rings": two("ring", outer="parameter-server", inner=LOCAL, sync="async"),
    "backups": flat("parameter-server", quorum=3),
    "late": flat("parameter-server", quorum=3, late="apply"),
    "more than ranks": flat("parameter-server", quorum=7),
    "local": flat("tree", sync="local", period=1),
    "post-local": flat("halving-doubling", local_after=5, **LOCAL),
    "local levels": two("parameter-server", outer="tree", inner=LOCAL, **LOCAL),
    "bsp around local": two("ring", inner=LOCAL),
    "a rank beside a local group": group("ring", 0, group("ring", 1, 2, 3, **LOCAL)),
    "unequal steps": flat("parameter-server", sync="local", period=(4, 4, 2, 1)),
    "state server": flat("parameter-server", sync="state-server", margin_s=0.0),
    "partial": flat("ring", sync="partial", group_size=3),
    "gossip": flat("gossip", graph="line"),
    "hubs": two("ring", outer="gossip", inner=LOCAL, graph=((0, 1),), **LOCAL),
    "hubs of unequal forms": pairs("gossip", group("ring", 0, 1), group("parameter-server", 2, 3)),
    "ad-psgd": flat("gossip", sync="async", graph=((0, 1), (2, 1), (3, 0))),
    "gssp": two("parameter-server", outer="gossip", inner=PUSHING, sync="async", period=4),
    "gssp with unequal rounds": pairs(
        "gossip",
        group("parameter-server", group("ring", 0, 1, **LOCAL), sync="async"),
        group("parameter-server", 2, 3, sync="ssp"),
        sync="async",
    ),
    "partitions": flat("parameter-server", partition_bytes=1e6),
}

REFUSED: dict[str, tuple[Group, list[str]]] = {
    "ssp ring": (
        flat("ring", sync="ssp"),
        ["sync: ssp goes with architecture parameter-server, but architecture is 'ring'"],
    ),
    "async ring": (
        flat("ring", sync="async"),
        ["sync: async goes with architecture parameter-server or gossip, but architecture is 'ring'"],
    ),
    "partial tree": (
        flat("tree", sync="partial", group_size=2),
        ["sync: partial goes with architecture ring, but architecture is 'tree'"],
    ),
    "async below": (
        two("parameter-server", inner={"sync": "async"}),
        [
            f"members[{i}].sync: a group inside of others is bsp or local, not async: only the root can be, or the "
            "groups of a root that is gossip and async"
            for i in (0, 1)
        ],
    ),
    "gossip below": (
        group("ring", 0, group("gossip", 1, 2, 3)),
        ["members[1].architecture: only the root can gossip"],
    ),
    "partial below": (
        group("ring", 0, group("ring", 1, 2, 3, sync="partial", group_size=2)),
        ["members[1].sync: only the root can be partial"],
    ),
    "staleness of bsp": (
        flat("parameter-server", staleness=1),
        ["staleness: goes with sync ssp, but sync is 'bsp'"],
    ),
    "staleness": (
        flat("parameter-server", sync="ssp", staleness=-1),
        [f"staleness: must be 0 to {MOST}, not -1"],
    ),
    "quorum of a ring": (
        flat("ring", quorum=2),
        ["quorum: goes with architecture parameter-server, but architecture is 'ring'"],
    ),
    "quorum of async": (
        flat("parameter-server", sync="async", quorum=2),
        ["quorum: goes with sync bsp, but sync is 'async'"],
    ),
    "quorum below": (
        two("parameter-server", inner={"quorum": 1}),
        [f"members[{i}].quorum: only the servers at the root can have one" for i in (0, 1)],
    ),
    "quorum of groups": (
        two("ring", outer="parameter-server", quorum=1),
        [f"members[{i}]: a quorum goes with ranks as members, and this is a group" for i in (0, 1)],
    ),
    "quorum and partitions": (
        flat("parameter-server", quorum=1, partition_bytes=1e6),
        ["partition_bytes: goes with gradients of all members, but quorum is 1"],
    ),
    "negative quorum": (
        flat("parameter-server", quorum=-1),
        [f"quorum: must be 0 to {MOST}, not -1"],
    ),
    "late": (flat("parameter-server", late="apply"), ["late: apply goes with a quorum, but quorum is 0"]),
    "shared bsp": (
        flat("parameter-server", steps="shared"),
        ["steps: shared goes with sync async, but sync is 'bsp'"],
    ),
    "shared gossip": (
        flat("gossip", sync="async", steps="shared"),
        ["steps: shared goes with architecture parameter-server, but architecture is 'gossip'"],
    ),
    "shared below": (
        two("parameter-server", outer="gossip", inner={"sync": "async", "steps": "shared"}, sync="async"),
        [f"members[{i}].steps: only the root can share steps" for i in (0, 1)],
    ),
    "shared groups": (
        two("ring", outer="parameter-server", sync="async", steps="shared"),
        [f"members[{i}]: steps shared goes with ranks as members, and this is a group" for i in (0, 1)],
    ),
    "period of bsp": (flat("ring", period=2), ["period: goes with sync local, but sync is 'bsp'"]),
    "period of ad-psgd": (
        flat("gossip", sync="async", period=2),
        ["period: goes with sync local, or with groups as members of sync async, but members are ranks"],
    ),
    "no period": (flat("ring", sync="local", period=0), [f"period: must be 1 to {MOST}, not 0"]),
    "unequal rounds": (
        pairs("tree", group("ring", 0, 1, **LOCAL), group("ring", 2, 3, sync="local", period=3)),
        ["members[1].period: exchanges once in 3 steps, but member 0 once in 2"],
    ),
    "few periods": (
        flat("parameter-server", sync="local", period=(1, 2, 3)),
        ["period: 3 numbers of steps for 4 members"],
    ),
    "periods of groups": (
        two("ring", sync="local", period=(1, 2)),
        [f"members[{i}]: a period for each member goes with ranks as members, and this is a group" for i in (0, 1)],
    ),
    "periods below": (
        two("ring", inner={"sync": "local", "period": (1, 2)}),
        [f"members[{i}].period: only the root can have a list of steps, one for each rank" for i in (0, 1)],
    ),
    "periods of bsp": (
        flat("ring", period=(1, 2, 1, 1)),
        ["period: a list of steps goes with sync local, but sync is 'bsp'"],
    ),
    "a period of zero": (
        flat("ring", sync="local", period=(1, 0, 1, 1)),
        [f"period[1]: must be 1 to {MOST}, not 0"],
    ),
    "post-local periods": (
        flat("ring", sync="local", period=(1, 2, 1, 1), local_after=1),
        ["local_after: goes with one period for all members, but period is a list"],
    ),
    "post-bsp": (flat("ring", local_after=1), ["local_after: goes with sync local, but sync is 'bsp'"]),
    "post-local below": (
        two("ring", inner={"local_after": 1, **LOCAL}),
        [f"members[{i}].local_after: only the root says when exchanges become rare" for i in (0, 1)],
    ),
    "state server of a ring": (
        flat("ring", sync="state-server"),
        ["sync: state-server goes with architecture parameter-server, but architecture is 'ring'"],
    ),
    "state server below": (
        group("ring", 0, group("parameter-server", 1, 2, 3, sync="state-server")),
        ["members[1].sync: only the root can be state-server"],
    ),
    "state server of groups": (
        two("ring", outer="parameter-server", sync="state-server"),
        [f"members[{i}]: sync state-server goes with ranks as members, and this is a group" for i in (0, 1)],
    ),
    "margin of bsp": (
        flat("parameter-server", margin_s=0.1),
        ["margin_s: goes with sync state-server, but sync is 'bsp'"],
    ),
    "margin": (
        flat("parameter-server", sync="state-server", margin_s=-1.0),
        ["margin_s: must be a finite number of seconds, not -1.0"],
    ),
    "partial of one": (
        flat("ring", sync="partial", group_size=1),
        ["group_size: must be 2 to 4, the number of members, not 1"],
    ),
    "partial of more": (
        flat("ring", sync="partial", group_size=5),
        ["group_size: must be 2 to 4, the number of members, not 5"],
    ),
    "partial groups": (
        two("ring", sync="partial", group_size=2),
        [f"members[{i}]: sync partial goes with ranks as members, and this is a group" for i in (0, 1)],
    ),
    "one flow of parts": (
        flat("ring", sync="partial", group_size=2, messages="composite"),
        ["messages: goes with sync bsp or local, but sync is 'partial'"],
    ),
    "size of bsp": (flat("ring", group_size=2), ["group_size: goes with sync partial, but sync is 'bsp'"]),
    "graph of a ring": (
        flat("ring", graph="line"),
        ["graph: goes with architecture gossip, but architecture is 'ring'"],
    ),
    "apart": (
        flat("gossip", graph=((0, 1), (2, 3))),
        ["graph: is not connected: no way leads from member 0 to 2, 3"],
    ),
    "wrong edges": (
        flat("gossip", graph=((0, 1), (2, 4), (3, 3), (1, 2, 3))),
        [
            "graph[1]: there is no member 4, members are 0 to 3",
            "graph[2]: member 3 is no neighbour of itself",
            "graph[3]: an edge joins two members, not 3",
        ],
    ),
    "rings tell each other": (
        two("ring", outer="gossip", sync="async"),
        [f"members[{i}]: {TELLERS}" for i in (0, 1)],
    ),
    "a rank tells servers": (
        group("gossip", 0, group("parameter-server", 1, 2, 3, sync="async"), sync="async"),
        [f"members[0]: {TELLERS}"],
    ),
    "partitions of local": (
        flat("parameter-server", partition_bytes=1e6, **LOCAL),
        ["partition_bytes: goes with sync bsp, but sync is 'local'"],
    ),
    "partitions around local": (
        two("ring", outer="parameter-server", inner=LOCAL, partition_bytes=1e6),
        ["partition_bytes: goes with sync bsp, but sync of members[0] is 'local'"],
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_schemes_that_are_allowed(name: str) -> None:
    assert found(ALLOWED[name]) == []
    assert run(ALLOWED[name], n_steps=8).end > 0


@pytest.mark.parametrize("name", REFUSED)
def test_fields_that_do_not_go_together_are_named(name: str) -> None:
    tree, flaws = REFUSED[name]
    assert found(tree) == flaws


def run(tree: Group, n_ranks: int = N_RANKS, n_steps: int = 1, compute_s: float = 0.01) -> PlanRun:
    """Lower and simulate a tree."""
    job = known_job([compute_s] * n_ranks, [400_000, 4_000], n_steps=n_steps)
    hosts = [f"h{i}" for i in range(max(n_ranks, len(SERVERS)))]
    devices = [f"{host}/gpu0" for host in hosts[:n_ranks]]
    whole = replace(placed(job, devices), tree=tree)
    return simulate(plan_of(star([1e9] * len(hosts)), whole), seed=1, replication=0)


def test_groups_that_push_less_than_once_in_a_period_tell_nobody() -> None:
    places = (((0, 1), "h0"), ((2, 3), "h2"))
    members = [group("parameter-server", *ranks, servers=(host,), **PUSHING) for ranks, host in places]
    told, untold = (run(pairs("gossip", *members, sync="async", period=n), n_steps=4) for n in (8, 9))
    # of 8 pushes in each group
    assert told.carried.sum() > untold.carried.sum() > 0.0


Trees = Callable[[list[int], list[str]], st.SearchStrategy[Group]]


def run_all(trees: Trees, n_examples: int) -> dict[bool, int]:
    """Run random trees that have no flaw, and return how many had none, and how many had some."""
    n_found = {True: 0, False: 0}

    @settings(max_examples=n_examples, deadline=None)
    @given(st.data())
    def draw_and_run(data: st.DataObject) -> None:
        n_ranks = data.draw(st.integers(1, 6))
        hosts = [f"h{i}" for i in range(max(n_ranks, len(SERVERS)))]
        tree = data.draw(trees(data.draw(st.permutations(range(n_ranks))), hosts))
        flaws = list(flaws_of(tree, n_ranks, hosts))
        n_found[not flaws] += 1
        if not flaws:
            n_steps, compute_s = data.draw(st.integers(1, 7)), data.draw(st.sampled_from([0.0, 0.01]))
            run(tree, n_ranks, n_steps, compute_s)  # raises where something waits for ever

    draw_and_run()
    return n_found


def test_trees_of_all_schemes_have_no_flaw_and_can_be_run() -> None:
    n_found = run_all(scheme_trees, 60)
    assert n_found[False] == 0
    assert n_found[True] >= 60


def test_trees_without_a_flaw_can_be_run() -> None:
    assert min(run_all(mutated_trees, 80).values()) >= 10


@pytest.mark.slow
def test_many_trees_without_a_flaw_can_be_run() -> None:
    assert min(run_all(mutated_trees, 2000).values()) >= 500
