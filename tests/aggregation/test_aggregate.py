from typing import cast

import pytest
from views import GBIT_PER_S, cluster, job, ranks

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.ring import ring
from hetsim.aggregation.view import build_view
from hetsim.contracts import AggregationView, Aggregator
from hetsim.errors import PolicyError, UnknownNameError
from hetsim.model.aggregation import Architecture, Group, Rank, Sync, ranks_of
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
    "nested": Group(members=(Rank(0), Group(members=(Rank(1), Rank(2)), architecture="ring")), architecture="ring"),
    "twice": Group(members=(Rank(0), Rank(1), Rank(1)), architecture="ring"),
    "short": Group(members=(Rank(0),), architecture="ring"),
    "beyond": Group(members=(*ALL, Rank(3)), architecture="ring"),
    "no rank": Group(members=(cast("Rank", 0), Rank(1), Rank(2)), architecture="ring"),
    "served ring": Group(members=ALL, architecture="ring", servers=("a",)),
    "no server": Group(members=ALL, architecture="parameter-server"),
    "elsewhere": Group(members=ALL, architecture="parameter-server", servers=("a", "c")),
    "tree": Group(members=ALL, architecture=cast("Architecture", "tree")),
    "ssp": Group(members=ALL, architecture="ring", sync=cast("Sync", "ssp")),
}


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ("nested", "aggregation.members[1]: a group inside a group cannot be run, only one flat group of ranks"),
        ("twice", "aggregation.members[2]: rank 1 is already aggregation.members[1]"),
        ("short", "aggregation.members: without rank 1, 2"),
        ("beyond", "aggregation.members[3]: there is no rank 3, ranks are 0 to 2"),
        ("no rank", "aggregation.members[0]: a int is not a Rank"),
        ("served ring", "aggregation.servers: a ring has none"),
        ("no server", "aggregation.servers: parameter servers are needed, and the job has none placed"),
        ("elsewhere", "aggregation.servers[1]: no parameter server was placed on 'c'; placed on: a, b"),
        ("tree", "aggregation.architecture: no architecture 'tree'. Known: parameter-server, ring"),
        ("ssp", "aggregation.sync: no sync 'ssp'; did you mean 'bsp'? Known: bsp"),
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
    with pytest.raises(PolicyError, match="a function is not an Aggregator"):
        aggregated(f"{__name__}:_answer", which="nested")
    with pytest.raises(UnknownNameError, match="did you mean 'ring'"):
        aggregated("rings")


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
