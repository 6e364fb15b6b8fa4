import json
from pathlib import Path

import pytest
from known_scenario import KNOWN

from hetsim.model.cluster import IDLE
from hetsim.model.job import KnownCompute
from hetsim.model.workload import Model
from hetsim.network.routes import Routes
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.load import load

VALID = Path(__file__).parent / "valid.yaml"


@pytest.fixture(scope="module")
def cluster():
    return build_cluster(load(VALID))


def link(cluster, a, b):
    (found,) = [each for each in cluster.links if {each.a, each.b} == {a, b}]
    return found


def test_hosts_and_devices_have_their_names(cluster):
    assert [host.name for host in cluster.hosts] == ["v100-0", "v100-1", "own"]
    assert [device.name for device in cluster.host("v100-0").devices] == ["v100-0/gpu0", "v100-0/gpu1", "v100-0/cpu"]
    assert [(device.name, device.card) for device in cluster.host("own").devices] == [
        ("own/gpu0", "own/card0"),
        ("own/gpu1", "own/card1"),
        ("own/gpu2", "own/card1"),
        ("own/gpu3", "own/card2"),
    ]


def test_dies_of_a_card_share_its_bus(cluster):
    assert link(cluster, "own/gpu1", "own/card1").latency_s == 0.0
    assert link(cluster, "own/gpu2", "own/card1").bytes_per_s == link(cluster, "own/card1", "own").bytes_per_s
    assert link(cluster, "own/card1", "own").latency_s == link(cluster, "own/card2", "own").latency_s > 0
    assert link(cluster, "own/gpu0", "own/p").bytes_per_s == 6e9


def test_peers_are_joined_by_half_a_latency_at_each_port(cluster):
    port = link(cluster, "v100-0/gpu0", "v100-0/peer")
    routes = Routes(cluster)
    assert [hop.name for hop in routes.path("v100-0/gpu0", "v100-0/gpu1")] == [
        "v100-0/gpu0>v100-0/peer",
        "v100-0/peer>v100-0/gpu1",
    ]
    assert routes.latency_s("v100-0/gpu0", "v100-0/gpu1") == 2 * port.latency_s
    assert not [each for each in cluster.links if {each.a, each.b} == {"v100-0/cpu", "v100-0/peer"}]


def test_a_cpu_that_holds_a_worker_is_joined_at_the_rate_of_its_memory(cluster):
    host = cluster.host("v100-0")
    bus = link(cluster, "v100-0/cpu", "v100-0")
    assert (bus.bytes_per_s, bus.latency_s) == (host.cpu.memory_bytes_per_s, 0.0)
    assert (host.n_cores, cluster.host("own").n_cores) == (16, 12)


def test_network_links_have_rate_latency_and_exceptions(cluster):
    assert link(cluster, "v100-0", "rack-0").bytes_per_s == 12.5e6
    assert link(cluster, "v100-1", "rack-0").bytes_per_s == pytest.approx(1.25e9, rel=0.1)
    assert link(cluster, "v100-1", "rack-0").latency_s == pytest.approx(5e-6)  # the topology's, not the catalog's
    assert link(cluster, "own", "rack-1").latency_s == pytest.approx(50e-6)  # the host's own
    assert link(cluster, "rack-0", "core").latency_s == pytest.approx(20e-6)
    assert link(cluster, "rack-1", "core").latency_s == pytest.approx(1e-3)
    assert link(cluster, "v100-1", "rack-0").background == ((0.0, 0.25),)


def test_what_a_link_holds_is_that_of_the_exception_the_nic_or_the_topology(cluster):
    assert link(cluster, "v100-0", "rack-0").queue_bytes == pytest.approx(0.02 * 12.5e6)  # at the rate of the exception
    assert link(cluster, "v100-1", "rack-0").queue_bytes == pytest.approx(0.02 * 1.25e9, rel=0.1)
    assert link(cluster, "own", "rack-1").queue_bytes == pytest.approx(0.01 * 0.125e9)
    assert link(cluster, "rack-0", "core").queue_bytes == pytest.approx(0.02 * 5e9)
    assert link(cluster, "rack-1", "core").queue_bytes == 1e6
    assert link(cluster, "v100-0/gpu0", "v100-0").queue_bytes == 0.0


def test_a_link_of_a_graph_has_its_own_queue_and_no_other():
    source = json.loads(json.dumps(KNOWN))
    links = [{"between": [f"a-{i}", "s"], "rate": "1 Gbit/s", "latency": "1 us"} for i in range(2)]
    links[0]["queue"] = "8 ms"
    source["cluster"]["topology"] = {"kind": "graph", "switches": ["s"], "links": links}
    built = build_cluster(load(source))
    assert [link(built, f"a-{i}", "s").queue_bytes for i in range(2)] == [1e6, 0.0]
    changed = build_cluster(load(source, ["cluster.links=[{between: [a-0, s], queue: 0 B}]"]))
    assert link(changed, "a-0", "s").queue_bytes == 0.0


def test_background_is_a_schedule(cluster):
    background = cluster.host("v100-1").background
    assert background.gpu == ((0.0, 0.1),)
    assert background.cpu == ((0.0, 0.1), (300.0, 0.8))
    assert background.memory_frac == 0.5
    assert cluster.host("own").background.cpu == IDLE


def test_every_figure_has_a_source(cluster):
    assert all(each.source for each in cluster.links)
    assert all(device.spec.source for device in cluster.devices)


def test_a_model_job():
    job = build_jobs(load(VALID))[0]
    assert isinstance(job.workload, Model)
    assert job.workload.input_shape == (3, 224, 224)
    assert job.n_steps == 201  # ceil(0.01 * 1,281,167 / (32 * 2))
    assert (job.batch, job.n_workers, job.n_servers, job.jitter_cv) == (32, 2, 1, 0.05)
    assert job.aggregation.parameters["sync"] == "bsp"
    assert job.aggregation.parameters["sharding"] == "round-robin"


def test_a_job_of_known_times():
    job = build_jobs(load(VALID))[1]
    assert isinstance(job.workload, KnownCompute)
    assert job.workload.compute_s == pytest.approx((0.06, 0.12))
    assert [variable.n_bytes for variable in job.variables] == [100_000_000, 2_000_000]
    assert job.workload.server_update_s == 0.0  # a ring has no server
    assert (job.batch, job.n_servers, job.dataset) == (1, 0, None)
    assert job.placement.parameters == {"servers": "separate"}


def test_one_known_time_is_that_of_every_worker():
    assert build_jobs(load(KNOWN))[0].workload.compute_s == pytest.approx((0.06, 0.06))


@pytest.mark.parametrize(
    ("model", "dataset", "pixels", "shape"),
    [
        ("resnet50", "imagenet", None, (3, 224, 224)),
        ("inception_v3", "imagenet", None, (3, 299, 299)),
        ("resnet18", "cifar10", None, (3, 32, 32)),
        ("lenet5", "mnist", None, (1, 32, 32)),
        ("resnet50", "imagenet", 128, (3, 128, 128)),
    ],
)
def test_the_input_follows_from_the_dataset(model, dataset, pixels, shape):
    job = {"name": "train", "model": model, "dataset": dataset, "batch": 8, "workers": 1, "steps": 1}
    (built,) = build_jobs(load(KNOWN | {"jobs": [job | ({"pixels": pixels} if pixels else {})]}))
    assert built.workload.input_shape == shape


def test_one_host_needs_no_network():
    source = json.loads(json.dumps(KNOWN))
    del source["cluster"]["topology"]
    del source["cluster"]["hosts"][0]["nic"]
    source["cluster"]["hosts"][0]["count"] = 1
    cluster = build_cluster(load(source))
    assert cluster.switches == ()
    assert [host.name for host in cluster.hosts] == ["a-0"]
