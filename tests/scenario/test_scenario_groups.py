"""The tree of an aggregation in a scenario."""

import copy

import pytest
import yaml

from hetsim.errors import ScenarioError
from hetsim.experiment.api import run
from hetsim.model.aggregation import Group, Rank
from hetsim.scenario.build import build_jobs
from hetsim.scenario.load import load
from hetsim.scenario.reads import reads, unread

TEXT = """
name: groups
cluster:
  hosts:
    - name: h
      count: 6
      devices: [{type: V100}]
      cpu: {type: Xeon-E5-2686v4}
      memory: 64 GiB
      nic: 10 Gbit/s
  topology: {kind: star, latency: 25 us}
jobs:
  - name: train
    compute: 10 ms
    gradient: [4 MB, 1 MB]
    workers: 4
    servers: 2
    steps: 2
    placement: {policy: default-tensorflow}
    aggregation:
      architecture: parameter-server
      members:
        - {architecture: ring, ranks: [0, 1]}
        - {architecture: halving-doubling, members: [2, {architecture: tree, ranks: [3]}]}
"""


def data(**aggregation):
    document = yaml.safe_load(TEXT)
    document["jobs"][0]["aggregation"].update(aggregation)
    return document


def tree(**aggregation):
    return build_jobs(load(data(**aggregation)))[0].aggregation


def test_a_tree_as_written():
    ring = Group(members=(Rank(0), Rank(1)), architecture="ring")
    alone = Group(members=(Rank(3),), architecture="tree")
    pair = Group(members=(Rank(2), alone), architecture="halving-doubling")
    assert tree() == Group(members=(ring, pair), architecture="parameter-server", servers=("0", "1"))
    assert tree(servers=[1, 0], sharding=[0.25, 0.75], partition="1 MB") == Group(
        members=(ring, pair),
        architecture="parameter-server",
        servers=("1", "0"),
        sharding=(0.25, 0.75),
        partition_bytes=1e6,
    )


def test_the_resolved_form_is_canonical_and_says_the_same():
    first = load(data())
    resolved = first.resolved()
    assert resolved["jobs"][0]["aggregation"] == {
        "architecture": "parameter-server",
        "sync": "bsp",
        "members": [
            {"architecture": "ring", "sync": "bsp", "ranks": [0, 1], "messages": "auto"},
            {
                "architecture": "halving-doubling",
                "sync": "bsp",
                "members": [2, {"architecture": "tree", "sync": "bsp", "ranks": [3]}],
            },
        ],
        "servers": [0, 1],
        "sharding": "round-robin",
    }
    assert load(resolved).resolved() == resolved
    assert build_jobs(load(resolved)) == build_jobs(first)
    spelt = copy.deepcopy(data(servers=[0, 1]))
    spelt["jobs"][0]["aggregation"]["members"][0] = {"architecture": "ring", "members": [0, 1]}
    assert load(spelt).resolved() == resolved


def test_every_field_of_a_tree_is_read():
    scenario = load(data(servers=[0, 1], sharding="even", partition="1 MB"))
    with reads() as seen:
        build_jobs(scenario)
    assert [path for path in unread(scenario, seen) if path.startswith("jobs")] == []


RANKS = {"ranks": [0, 1, 2, 3]}
SCHEMES = {
    "ssp": {"architecture": "parameter-server", "sync": "ssp", "staleness": 2, **RANKS},
    "quorum": {"architecture": "parameter-server", "quorum": 3, "late": "apply", **RANKS},
    "shared": {"architecture": "parameter-server", "sync": "async", "steps": "shared", **RANKS},
    "local": {"architecture": "tree", "sync": "local", "period": 4, "local_after": 2, **RANKS},
    "unequal": {"architecture": "parameter-server", "sync": "local", "period": [1, 2, 3, 4], **RANKS},
    "partial": {"architecture": "ring", "sync": "partial", "group_size": 2, **RANKS},
    "state server": {"architecture": "parameter-server", "sync": "state-server", "margin": "0.25 s", **RANKS},
    "gossip": {"architecture": "gossip", "sync": "async", "graph": [[0, 1], [1, 2], [2, 3]], **RANKS},
    "grouped": {
        "architecture": "gossip",
        "sync": "async",
        "period": 2,
        "graph": "line",
        "members": [
            {"architecture": "parameter-server", "sync": "ssp", "staleness": 1, "ranks": [0, 1], "servers": [0]},
            {"architecture": "parameter-server", "sync": "async", "ranks": [2, 3], "servers": [1]},
        ],
    },
}
TUPLES = {"period": (1, 2, 3, 4), "graph": ((0, 1), (1, 2), (2, 3))}


def whole(**aggregation):
    document = data()
    document["jobs"][0]["aggregation"] = aggregation
    return document


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_as_written(name):
    written = SCHEMES[name]
    scenario = load(whole(**written))
    with reads() as seen:
        found = build_jobs(scenario)[0].aggregation
    assert found.margin_s == (0.25 if "margin" in written else 0.5)
    for field in written.keys() - {"ranks", "members", "servers", "margin"}:
        value = TUPLES[field] if isinstance(written[field], list) else written[field]
        assert getattr(found, field) == value
    assert [path for path in unread(scenario, seen) if "aggregation" in path] == []
    resolved = scenario.resolved()
    assert resolved["jobs"][0]["aggregation"].items() >= (written if name != "grouped" else {"period": 2}).items()
    assert load(resolved).resolved() == resolved
    assert build_jobs(load(resolved)) == build_jobs(scenario)


def test_what_a_group_does_not_say_is_not_written():
    said = {"sync": "local", "period": 1, "local_after": 0, "staleness": 0, "quorum": 0, "graph": "complete"}
    more = {"late": "drop", "steps": "each", "group_size": 0}
    resolved = load(whole(architecture="tree", **said, **more, **RANKS)).resolved()
    assert resolved["jobs"][0]["aggregation"] == {"architecture": "tree", "sync": "local", **RANKS}


def test_a_tree_without_servers_reads_no_servers():
    document = data()
    document["jobs"][0]["aggregation"] = {"architecture": "ring", "ranks": [3, 1, 2, 0]}
    scenario = load(document)
    with reads() as seen:
        job = build_jobs(scenario)[0]
    assert job.n_servers == 0
    assert "jobs[train].servers" in unread(scenario, seen)


def test_a_path_leads_into_a_tree():
    path = "jobs[train].aggregation.members[0].architecture"
    scenario = load(data(), [f"{path}=tree"])
    assert build_jobs(scenario)[0].aggregation.members[0].architecture == "tree"
    assert scenario.with_values({path: "ring"}).resolved() == load(data()).resolved()
    policy = scenario.with_values({"jobs[train].aggregation": {"policy": "ring"}})
    assert build_jobs(policy)[0].aggregation.policy == "ring"


def test_a_tree_runs_from_the_file_to_the_table():
    result = run(load(data()))
    assert len(result.to_frame()) == 1
    assert result.to_frame()["train_time_s"].iloc[0] > 0.02


@pytest.mark.parametrize(
    ("aggregation", "issue"),
    [
        ({"servers": [0, 2]}, "aggregation.servers[1]: there is no server 2, servers of the job are 0 to 1"),
        ({"servers": [0]}, "servers: 2 servers, but no group of the aggregation uses server 1"),
        ({"sharding": [0.5, 0.4]}, "aggregation.sharding: shares sum to 0.9, not to 1"),
        ({"ranks": [0]}, "aggregation.ranks: either members or ranks, not both"),
        ({"members": [0, 1, 2, 2]}, "aggregation.members[3]: rank 2 is already aggregation.members[2]"),
        (
            {"members": None, "ranks": [0, 1, 2, 3, 7]},
            "aggregation.ranks[4]: there is no rank 7, ranks are 0 to 3",
        ),
        ({"members": [0, {"architecture": "ring", "ranks": [1]}]}, "aggregation.members: without rank 2, 3"),
        (
            {"members": [0, 1, 2, {"architecture": "parameter-server", "ranks": [3], "partition": "1 MB"}]},
            "aggregation.members[3].partition: only the servers at the root return partitions",
        ),
        (
            {"members": [0, 1, {"architecture": "ring", "ranks": [2, 3], "servers": [0]}]},
            "aggregation.members[2].servers: a ring has none",
        ),
        ({"members": [0, 1, 2, "3"]}, "aggregation.members[3]: must be the number of a rank, or a group, not '3'"),
        ({"members": None}, "aggregation: has no members: write members (groups, or numbers of ranks) or ranks"),
        (
            {"architecture": "rng"},
            "aggregation.architecture: must be 'parameter-server', 'ring', 'tree', "
            "'halving-doubling' or 'gossip', not 'rng'; did you mean 'ring'?",
        ),
        (
            {"members": [{"architecture": "ring", "rank": [0]}]},
            "aggregation.members[0].rank: no key 'rank'; did you "
            "mean 'ranks'? Known: architecture, sync, members, ranks, servers, sharding, partition, messages, "
            "staleness, period, local_after, quorum, late, steps, graph, group_size, margin",
        ),
        ({"staleness": 1}, "aggregation.staleness: goes with sync ssp, but sync is 'bsp'"),
        ({"staleness": -1}, "aggregation.staleness: must be at least 0, not -1"),
        ({"quorum": True}, "aggregation.quorum: must be a whole number, not true"),
        ({"period": "2"}, "aggregation.period: must be a whole number, not '2'"),
        ({"sync": "local", "period": [1, "2"]}, "aggregation.period[1]: must be a whole number, not '2'"),
        ({"late": "kept"}, "aggregation.late: must be 'drop' or 'apply', not 'kept'"),
        ({"graph": "star"}, "aggregation.graph: must be 'complete', 'ring' or 'line', not 'star'"),
        ({"graph": [[0, 1], 2]}, "aggregation.graph[1]: must be a list, not 2"),
        (
            {"architecture": "gossip", "graph": [[0, 2]]},
            "aggregation.graph[0]: there is no member 2, members are 0 to 1",
        ),
        (
            {"members": [0, {"architecture": "ring", "ranks": [1, 2, 3], "sync": "local", "period": [1, 2, 1]}]},
            "aggregation.members[1].period: only the root can have a list of steps, one for each rank",
        ),
        (
            {"members": None, "ranks": [0, 1, 2, 3], "sync": "local", "period": [1, 2, 0, 1]},
            "aggregation.period[2]: must be 1 to 100000, not 0",
        ),
        ({"margin": "1 s"}, "aggregation.margin: goes with sync state-server, but sync is 'bsp'"),
        ({"sync": "local", "partition": "1 MB"}, "aggregation.partition: goes with sync bsp, but sync is 'local'"),
        (
            {"policy": "ring"},
            "aggregation.architecture: no key 'architecture'. Known: sync, period, local_after, order, messages",
        ),
    ],
)
def test_a_tree_that_cannot_be_run_is_named_by_its_path(aggregation, issue):
    with pytest.raises(ScenarioError) as caught:
        load(data(**aggregation))
    messages = [f"{each.path}: {each.message}".removeprefix("jobs[train].") for each in caught.value.issues]
    assert issue in messages
