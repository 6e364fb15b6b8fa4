import math
import sys
from typing import cast

import pytest
from views import GBIT_PER_S, cluster, job, ranks

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.find import find_aggregator, has_servers
from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.ring import ring
from hetsim.aggregation.shape import mistyped
from hetsim.aggregation.view import build_view
from hetsim.contracts import AggregationFunction, AggregationView, Aggregator
from hetsim.errors import PolicyError, UnknownNameError
from hetsim.model.aggregation import Architecture, Group, Messages, Rank, Sharding, Sync, ranks_of
from hetsim.model.job import PolicyChoice
from hetsim.model.placement import Placement
from hetsim.model.workload import StepTime
from hetsim.network.routes import Routes

SEEN = ranks("a", "b", "a", servers=("a", "b"))
ALL = (Rank(0), Rank(1), Rank(2))


def aggregated(policy: str, view: AggregationView = SEEN, **parameters: object) -> Group:
    return aggregate(job(aggregation=PolicyChoice(policy=policy, parameters=parameters)), view)


def test_parameter_server_holds_all_ranks_and_servers() -> None:
    assert aggregated("parameter-server", sync="bsp", sharding="even") == Group(
        members=ALL, architecture="parameter-server", servers=("a", "b"), sharding="even"
    )
    assert parameter_server(SEEN).sharding == "round-robin"


def test_ring_by_rank_or_by_host() -> None:
    assert list(ranks_of(aggregated("ring"))) == [0, 1, 2]
    assert list(ranks_of(aggregated("ring", order="host"))) == [0, 2, 1]
    assert list(ranks_of(ring(ranks("b", "a", "c", "a", "b"), order="host"))) == [0, 4, 1, 3, 2]


def test_a_job_without_servers_cannot_have_a_parameter_server() -> None:
    with pytest.raises(PolicyError, match=r"aggregation\.servers: parameter servers are needed"):
        aggregated("parameter-server", ranks("a", "b"))


ANSWERS = {
    "plain": Group(members=ALL, architecture="parameter-server", servers=("a",)),
    "served below": Group(
        members=(Rank(0), Group(members=(Rank(1), Rank(2)), architecture="ring", servers=("a",))), architecture="ring"
    ),
    "no server below": Group(
        members=(Rank(0), Group(members=(Rank(1), Rank(2)), architecture="parameter-server")), architecture="ring"
    ),
    "twice below": Group(
        members=(
            Group(members=(Rank(0), Rank(1)), architecture="ring"),
            Group(members=(Rank(1),), architecture="ring"),
        ),
        architecture="ring",
    ),
    "empty": Group(members=(*ALL, Group(members=(), architecture="ring")), architecture="ring"),
    "few shares": Group(members=ALL, architecture="parameter-server", servers=("a", "b"), sharding=(1.0,)),
    "small shares": Group(members=ALL, architecture="parameter-server", servers=("a", "b"), sharding=(0.5, 0.4)),
    "negative": Group(members=ALL, architecture="parameter-server", servers=("a", "b"), sharding=(-0.5, 1.5)),
    "shared ring": Group(members=ALL, architecture="ring", sharding="even"),
    "cut ring": Group(members=ALL, architecture="ring", partition_bytes=1e6),
    "cut below": Group(
        members=(Group(members=ALL, architecture="parameter-server", servers=("a",), partition_bytes=1e6),),
        architecture="ring",
    ),
    "endless": Group(members=ALL, architecture="parameter-server", servers=("a",), partition_bytes=math.inf),
    "one flow": Group(members=ALL, architecture="tree", messages="composite"),
    "one push": Group(members=ALL, architecture="parameter-server", servers=("a",), messages="composite"),
    "messages": Group(members=ALL, architecture="ring", messages=cast("Messages", "round")),
    "twice": Group(members=(Rank(0), Rank(1), Rank(1)), architecture="ring"),
    "short": Group(members=(Rank(0),), architecture="ring"),
    "beyond": Group(members=(*ALL, Rank(3)), architecture="ring"),
    "no rank": Group(members=(cast("Rank", 0), Rank(1), Rank(2)), architecture="ring"),
    "served ring": Group(members=ALL, architecture="ring", servers=("a",)),
    "no server": Group(members=ALL, architecture="parameter-server"),
    "elsewhere": Group(members=ALL, architecture="parameter-server", servers=("a", "c")),
    "star": Group(members=ALL, architecture=cast("Architecture", "star")),
    "asp": Group(members=ALL, architecture="ring", sync=cast("Sync", "asp")),
}


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ("served below", "aggregation.members[1].servers: a ring has none"),
        ("no server below", "aggregation.members[1].servers: parameter servers are needed: name some of those placed"),
        ("twice below", "aggregation.members[1].members[0]: rank 1 is already aggregation.members[0].members[1]"),
        ("empty", "aggregation.members[3].members: an empty group has nothing to combine"),
        ("few shares", "aggregation.sharding: 1 shares for 2 servers"),
        ("small shares", "aggregation.sharding: shares sum to 0.9, not to 1"),
        ("negative", "aggregation.sharding: a share is at least zero"),
        ("shared ring", "aggregation.sharding: a ring has no servers to share bytes among"),
        ("cut ring", "aggregation.partition_bytes: a ring has no servers that could return partitions"),
        ("cut below", "aggregation.members[0].partition_bytes: only the servers at the root return partitions"),
        ("endless", "aggregation.partition_bytes: must be a finite number of bytes, not inf"),
        ("one flow", "aggregation.messages: only a ring can be one flow, a tree is simulated message by message"),
        ("one push", "aggregation.messages: only a ring can be one flow"),
        (
            "messages",
            "aggregation.messages: no messages 'round'; did you mean 'rounds'? Known: auto, rounds, composite",
        ),
        ("twice", "aggregation.members[2]: rank 1 is already aggregation.members[1]"),
        ("short", "aggregation.members: without rank 1, 2"),
        ("beyond", "aggregation.members[3]: there is no rank 3, ranks are 0 to 2"),
        ("no rank", "aggregation.members[0]: a int is neither a Group nor a Rank"),
        ("served ring", "aggregation.servers: a ring has none"),
        ("no server", "aggregation.servers: parameter servers are needed: name some of those placed"),
        ("elsewhere", "aggregation.servers[1]: no parameter server was placed on 'c'; placed on: a, b"),
        (
            "star",
            "aggregation.architecture: no architecture 'star'. "
            "Known: parameter-server, ring, tree, halving-doubling, gossip",
        ),
        (
            "asp",
            "aggregation.sync: no sync 'asp'; did you mean 'ssp'? Known: bsp, async, ssp, local, partial, state-server",
        ),
    ],
)
def test_trees_that_cannot_be_run_are_named_by_their_node(answer: str, rule: str) -> None:
    with pytest.raises(PolicyError) as caught:
        aggregated(f"{__name__}:answering", which=answer)
    assert caught.value.rule == rule


def _answer(view: AggregationView, *, which: str) -> Group:
    return ANSWERS[which]


answering = Aggregator(function=_answer, needs_servers=False)


def test_failures_of_a_policy_are_its_own() -> None:
    with pytest.raises(PolicyError, match="raised KeyError: 'x'"):
        aggregated(f"{__name__}:answering", which="x")
    with pytest.raises(UnknownNameError, match="did you mean 'ring'"):
        aggregated("rings")


def test_a_plain_function_is_a_policy_that_may_use_servers() -> None:
    assert aggregated(f"{__name__}:_answer", which="plain") == ANSWERS["plain"]
    assert find_aggregator(f"{__name__}:_answer").needs_servers


NO_AGGREGATORS = {
    "number": (3, "a int is neither a function nor a hetsim.contracts.Aggregator"),
    "empty": (
        Aggregator(function=cast("AggregationFunction", None), needs_servers=False),
        "its function is a NoneType",
    ),
    "maybe": (Aggregator(function=_answer, needs_servers=cast("bool", "maybe")), "its needs_servers is 'maybe', neit"),
    "raises": (
        Aggregator(function=_answer, needs_servers=lambda parameters: bool(parameters["x"])),
        "its needs_servers raised KeyError: 'x'",
    ),
    "words": (
        Aggregator(function=_answer, needs_servers=cast("bool", lambda _: "yes")),
        "its needs_servers returned 'yes', neither True nor False",
    ),
    "shares": (Aggregator(function=_answer, needs_servers=True, sharding=cast("Sharding", [1])), "no sharding '[1]'"),
}


@pytest.mark.parametrize("name", NO_AGGREGATORS)
def test_what_is_no_aggregation_policy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, why = NO_AGGREGATORS[name]
    monkeypatch.setattr(sys.modules[__name__], "answering", found)
    with pytest.raises(UnknownNameError) as caught:
        has_servers(f"{__name__}:answering", {})
    assert why in str(caught.value)


def nested(depth: int) -> Group:
    tree = Group(members=ALL, architecture="ring")
    for _ in range(depth):
        tree = Group(members=(tree,), architecture="ring")
    return tree


@pytest.mark.parametrize(
    ("tree", "flaw"),
    [
        (Group(members=cast("tuple[Rank]", None), architecture="ring"), ".members: must be a tuple, not a NoneType"),
        (Group(members=cast("tuple[Rank]", [*ALL]), architecture="ring"), ".members: must be a tuple, not a list"),
        (Group(members=(Rank(cast("int", 0.0)),), architecture="ring"), ".members[0].index: must be a whole number, "),
        (Group(members=(Rank(False),), architecture="ring"), ".members[0].index: must be a whole number, not a bool"),
        (Group(members=ALL, architecture=cast("Architecture", ["ring"])), ".architecture: must be text, not a list"),
        (Group(members=ALL, architecture="ring", servers=cast("tuple[str]", (1,))), ".servers[0]: must be text, not a"),
        (Group(members=ALL, architecture="ring", sharding=cast("Sharding", 1)), ".sharding: a int is neither text nor"),
        (Group(members=ALL, architecture="ring", sharding=(True,)), ".sharding[0]: must be a number, not a bool"),
        (
            Group(members=ALL, architecture="ring", partition_bytes=cast("float", "1 MB")),
            ".partition_bytes: must be a number, not a str",
        ),
        (
            Group(members=(Group(members=(cast("Rank", _answer),), architecture="ring"),), architecture="ring"),
            ".members[0].members[0]: a function is neither a Group nor a Rank",
        ),
        (nested(5000), ".members[0]: nested more than 64 levels deep"),
    ],
)
def test_trees_of_other_types_are_named_by_their_node(tree: Group, flaw: str) -> None:
    assert str(next(mistyped(tree))).startswith(f"aggregation{flaw}")
    assert list(mistyped(nested(3))) == []


def test_a_mistyped_tree_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "plain", Group(members=(Rank(cast("int", 0.0)), *ALL[1:]), architecture="ring"))
    with pytest.raises(PolicyError, match="must be a whole number, not a float"):
        aggregated(f"{__name__}:_answer", which="plain")


def test_view_of_a_placed_job() -> None:
    place = cluster()
    times = [
        StepTime(forward_s=0.1, backward_s=0.2 + rank, basis="measured", method="m", source="s") for rank in range(3)
    ]
    placement = Placement(("b/gpu1", "a/gpu0", "c/cpu"), ("a",))
    seen = build_view(place, Routes(place), job(), placement, times)
    assert [(rank.device, rank.host, rank.kind) for rank in seen.ranks] == [
        ("b/gpu1", "b", "D"),
        ("a/gpu0", "a", "P"),
        ("c/cpu", "c", "C"),
    ]
    assert [rank.compute_s for rank in seen.ranks] == pytest.approx([0.3, 1.3, 2.3])
    assert [rank.available_frac for rank in seen.ranks] == pytest.approx([0.5, 1.0, 0.9])
    assert (seen.servers, seen.gradient_bytes) == (("a",), 4000.0)
    assert seen.path_bytes_per_s("a", "b") == pytest.approx(0.8 * GBIT_PER_S)
