import json

from known_scenario import KNOWN

from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.load import load
from hetsim.scenario.reads import reads, unread
from hetsim.scenario.starter import starter


def never_read(**job):
    scenario = load(KNOWN | {"jobs": [KNOWN["jobs"][0] | job]})
    with reads() as seen:
        build_cluster(scenario)
        build_jobs(scenario)
    return unread(scenario, seen)


def test_everything_with_an_effect_is_read():
    assert never_read(servers=2, update="1 ms", jitter={"cv": 0.1}, placement={"policy": "random"}) == ["name"]


def test_nothing_of_the_starter_is_written_in_vain(tmp_path):
    path = tmp_path / "starter.yaml"
    path.write_text(starter(), encoding="utf-8")
    scenario = load(path)
    with reads() as seen:
        assert (scenario.name, scenario.seed, scenario.replications) == ("my-scenario", 1, 10)
        build_cluster(scenario)
        build_jobs(scenario)
    assert unread(scenario, seen) == []


def test_servers_of_a_ring_are_not_read():
    assert never_read(servers=2, update="1 ms", aggregation={"policy": "ring"}) == [
        "name",
        "jobs[train].servers",
        "jobs[train].update",
    ]


def test_a_dataset_beside_known_steps_is_not_read():
    assert never_read(dataset="imagenet") == ["name", "jobs[train].dataset"]


def test_a_latency_that_every_nic_overrules_is_not_read():
    source = json.loads(json.dumps(KNOWN).replace('"10 Gbit/s"', '{"rate": "10 Gbit/s", "latency": "1 us"}'))
    source["cluster"]["hosts"][0]["background"] = {"cpu": [{"at": "0 s", "share": 0.5}]}
    scenario = load(source)
    with reads() as seen:
        assert (scenario.name, scenario.seed) == ("known", 0)
        build_cluster(scenario)
        build_jobs(scenario)
    assert unread(scenario, seen) == ["cluster.topology.latency"]


def test_the_nic_of_a_graph_is_not_read():
    source = json.loads(json.dumps(KNOWN))
    link = {"between": ["a-0", "a-1"], "rate": "1 Gbit/s", "latency": "1 us"}
    source["cluster"]["topology"] = {"kind": "graph", "links": [link]}
    scenario = load(source)
    with reads() as seen:
        build_cluster(scenario)
        build_jobs(scenario)
    assert unread(scenario, seen) == ["name", "cluster.hosts[a].nic"]


def test_a_queue_that_every_nic_overrules_is_not_read():
    own = '{"rate": "10 Gbit/s", "latency": "1 us", "queue": "1 MB"}'
    for nic, unread_paths in ((own, ["cluster.topology.queue"]), ('"10 Gbit/s"', [])):
        source = json.loads(json.dumps(KNOWN).replace('"10 Gbit/s"', nic))
        source["cluster"]["topology"] |= {"queue": "50 ms"}
        scenario = load(source)
        with reads() as seen:
            build_cluster(scenario)
        assert [path for path in unread(scenario, seen) if "queue" in path] == unread_paths


def test_reads_end_with_their_block_and_checks_are_not_reads():
    scenario = load(KNOWN)
    with reads() as seen:
        load(KNOWN)
        scenario.resolved()
        scenario.with_values({"seed": 2})
        assert seen == set()
    build_jobs(scenario)
    assert seen == set()
