"""Impairments, schedules, recordings, traffic and transports as a scenario writes them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from hetsim import compare, load, run
from hetsim.model.cluster import Cluster, Link
from hetsim.model.transport import IDEAL
from hetsim.scenario.build import build_cluster, build_jobs


def scenario(**cluster: Any) -> dict[str, Any]:
    job = {"name": "train", "compute": "10 ms", "gradient": "1 MB", "workers": 2, "steps": 4}
    host = {"name": "a", "count": 2, "devices": [{"type": "V100"}], "cpu": {"type": "Xeon-E5-2686v4"}}
    hosts = [host | {"memory": "64 GiB", "nic": "1 Gbit/s"}]
    topology = {"kind": "star", "latency": "1 ms"}
    return {
        "name": "impaired",
        "cluster": {"hosts": hosts, "topology": topology} | cluster,
        "jobs": [job | {"aggregation": {"policy": "ring"}}],
    }


def link(cluster: Cluster, host: str) -> Link:
    (found,) = (each for each in cluster.links if (each.a, each.b) == (host, "switch"))
    return found


def built(**cluster: Any) -> Cluster:
    return build_cluster(load(scenario(**cluster)))


def test_a_qdisc_of_a_host_is_at_its_own_end() -> None:
    content = scenario()
    content["cluster"]["hosts"][0]["netem"] = "delay 5ms"
    found = link(build_cluster(load(content)), "a-1")
    assert [each.delay_s for each in found.from_a] == [pytest.approx(5e-3)]
    assert [each.delay_s for each in found.from_b] == [0.0]


def test_a_qdisc_of_a_link_is_at_the_end_that_is_written_first() -> None:
    for ends, sides in ((["a-0", "switch"], (5e-3, 0.0)), (["switch", "a-0"], (0.0, 5e-3))):
        found = link(built(links=[{"between": ends, "netem": "delay 5ms"}]), "a-0")
        assert (found.from_a[0].delay_s, found.from_b[0].delay_s) == pytest.approx(sides)
    both = {"a-0": "delay 5ms", "switch": "delay 7ms"}
    found = link(built(links=[{"between": ["a-0", "switch"], "netem": both}]), "a-0")
    assert (found.from_a[0].delay_s, found.from_b[0].delay_s) == pytest.approx((5e-3, 7e-3))


def test_an_exception_replaces_the_qdisc_of_the_host() -> None:
    content = scenario(links=[{"between": ["a-0", "switch"], "netem": "delay 9ms"}])
    content["cluster"]["hosts"][0]["netem"] = "delay 5ms"
    cluster = build_cluster(load(content))
    assert [link(cluster, host).from_a[0].delay_s for host in ("a-0", "a-1")] == pytest.approx([9e-3, 5e-3])


def test_a_schedule_keeps_what_it_leaves_out() -> None:
    steps = [
        {"at": "1 s", "down": True},
        {"at": "2 s", "down": False, "rate": "1 MB/s"},
        {"at": "3 s", "latency": "4 ms"},
        {"at": "4 s", "netem": "delay 2ms loss 1%"},
    ]
    found = link(built(links=[{"between": ["a-0", "switch"], "netem": "delay 5ms", "schedule": steps}]), "a-0")
    assert [each.at_s for each in found.from_a] == [0.0, 1.0, 2.0, 3.0, 4.0]
    # Latency is that of the link, 1 ms before, without the qdisc's.
    assert [each.delay_s for each in found.from_a] == pytest.approx([5e-3, 5e-3, 5e-3, 8e-3, 5e-3])
    assert [each.delay_s for each in found.from_b] == pytest.approx([0.0, 0.0, 0.0, 3e-3, 3e-3])
    assert [each.bytes_per_s for each in found.from_b] == [math.inf, 0.0, 1e6, 1e6, 1e6]
    assert [each.loss_frac for each in found.from_a] == pytest.approx([0, 0, 0, 0, 0.01])


def test_a_schedule_may_begin_at_once() -> None:
    found = link(built(links=[{"between": ["a-0", "switch"], "schedule": [{"at": "0 s", "rate": "1 MB/s"}]}]), "a-0")
    assert [(each.at_s, each.bytes_per_s) for each in found.from_a] == [(0.0, 1e6)]


def test_without_any_links_are_as_they_were() -> None:
    found = link(built(links=[{"between": ["a-0", "switch"], "rate": "2 Gbit/s"}]), "a-0")
    assert found.from_a == found.from_b == ()


def recorded(folder: Path) -> Path:
    rates = {"intervals": [{"sum": {"start": s, "bits_per_second": b}} for s, b in [(0, 8e8), (1, 0.0), (2, 4e8)]]}
    (folder / "rates.json").write_text(json.dumps(rates), encoding="utf-8")
    answer = "64 bytes from 10.0.0.2: icmp_seq={} ttl=64 time={} ms\n"
    (folder / "ping.txt").write_text(answer.format(1, 2.0) + answer.format(3, 6.0), encoding="utf-8")
    content = scenario(links=[{"between": ["a-0", "switch"], "trace": {"ping": "ping.txt", "iperf3": "rates.json"}}])
    path = folder / "recorded.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_recordings_become_a_schedule(tmp_path: Path) -> None:
    loaded = load(recorded(tmp_path))
    found = link(build_cluster(loaded), "a-0")
    assert [(each.at_s, each.bytes_per_s) for each in found.from_a] == [(0.0, 1e8), (1.0, 0.0), (2.0, 5e7)]
    assert [each.delay_s for each in found.from_b] == pytest.approx([0.0, 0.0, 2e-3])
    assert found.source.endswith("replayed: ping.txt, rates.json")
    assert load(loaded.resolved()).resolved() == loaded.resolved()


def test_what_a_recording_says_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    result = run(path)
    assert result.unread == ()
    before = result.fingerprint
    assert run(path).fingerprint == before
    (tmp_path / "ping.txt").write_text("64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=3 ms\n", encoding="utf-8")
    assert run(path).fingerprint != before


def test_everything_written_is_read() -> None:
    both = {"a-0": "delay 5ms", "switch": "delay 7ms"}
    content = scenario(
        links=[{"between": ["a-0", "switch"], "netem": both, "schedule": [{"at": "1 s", "netem": both, "down": True}]}],
        traffic=[{"source": "a-0", "target": "a-1", "size": "1 MB", "every": "1 s", "cv": 0.5, "start": "1 s"}],
    )
    content["jobs"][0]["transport"] = {"type": "tcp", "streams": 2, "window": "1 MB", "stream_rate": "1 Gbit/s"}
    assert run(load(content)).unread == ()


def test_a_transport_by_name_or_with_its_own_figures() -> None:
    content = scenario()
    (job,) = build_jobs(load(content))
    assert job.transport == IDEAL
    content["jobs"][0]["transport"] = {"type": "gloo"}
    (job,) = build_jobs(load(content))
    assert (job.transport.name, job.transport.n_streams, job.unfairness) == ("gloo", 1, 0.0)
    content["jobs"][0]["transport"] = {"type": "gloo", "streams": 4, "window": "2 MB", "unfairness": 0.8}
    (job,) = build_jobs(load(content))
    assert (job.transport.n_streams, job.transport.window_bytes, job.unfairness) == (4, 2e6, 0.8)


def test_transports_can_be_compared_and_warn_once_each() -> None:
    content = scenario()
    content["cluster"]["hosts"][0]["netem"] = "delay 10ms"
    content["jobs"][0]["transport"] = {"type": "ideal"}
    found = compare(content, {"jobs[train].transport.type": ["ideal", "nccl", "gloo"]})
    times = {row.labels["jobs[train].transport.type"]: row.mean for row in found.rows}
    assert times["ideal"] < times["gloo"]
    assert len([text for text in found.warnings if "transport nccl: size 1 MB" in text]) == 1
    assert all("ideal" not in text for text in found.warnings)


def test_traffic_slows() -> None:
    content = scenario(traffic=[{"source": "a-0", "target": "a-1", "size": "10 MB", "every": "1 ms"}])
    slow, fast = run(load(content)), run(load(scenario()))
    assert slow.record.jobs[0].trace.step_end.max() > fast.record.jobs[0].trace.step_end.max()


def test_a_thousand_samples_cost_what_they_are(tmp_path: Path) -> None:
    """Looking a state up takes its logarithm: 4,000 steps are looked up 4,000 times, for every way."""
    answers = [f"64 bytes from 10.0.0.2: icmp_seq={i} ttl=64 time={1 + i % 7} ms" for i in range(4000)]
    (tmp_path / "ping.txt").write_text("\n".join(answers), encoding="utf-8")
    content = scenario(links=[{"between": ["a-0", "switch"], "trace": {"ping": "ping.txt"}}])
    path = tmp_path / "long.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    found = link(build_cluster(load(path)), "a-0")
    assert len(found.from_a) == 4000
    assert run(path).record.jobs[0].trace.step_end.max() > 0
