"""Small views for tests of policies."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from hetsim.contracts import AggregationView, HostView, PlacementView, RankView, Requirements, SlotView
from hetsim.model.cluster import IDLE, Background, Cluster, Device, DeviceSpec, Host, Link
from hetsim.model.job import Job, KnownCompute, PolicyChoice
from hetsim.model.workload import Variable

GIB = 2.0**30
GBIT_PER_S = 1e9 / 8


def slot(device: str, compute_s: float = 0.1, **fields: object) -> SlotView:
    """A device such as ``a/gpu0`` on a card of its own, idle and large."""
    values: dict[str, object] = {
        "device": device,
        "host": device.split("/", maxsplit=1)[0],
        "kind": "V100",
        "compute_s": compute_s,
        "available_frac": 1.0,
        "free_bytes": 16 * GIB,
        "card": device,
        "card_capacity": 1.0,
        "bus_bytes_per_s": 12e9,
        "taken": False,
    }
    return SlotView(**(values | fields))


def host(name: str, **fields: object) -> HostView:
    values: dict[str, object] = {
        "name": name,
        "cpu_available_frac": 1.0,
        "update_s": 0.01,
        "free_bytes": 64 * GIB,
        "network_bytes_per_s": 10 * GBIT_PER_S,
    }
    return HostView(**(values | fields))


def star(hosts: Sequence[HostView]) -> Callable[[str, str], float]:
    """Rates of hosts around one switch."""
    rate = {each.name: each.network_bytes_per_s for each in hosts}
    return lambda a, b: math.inf if a == b else min(rate[a], rate[b])


def at_once(a: str, b: str) -> float:
    return 0.0


def view(
    slots: Sequence[SlotView],
    hosts: Sequence[HostView],
    *,
    draws: Sequence[float] | None = None,
    latency_s: Callable[[str, str], float] = at_once,
    **requirements: object,
) -> PlacementView:
    """A star without latency, two workers, one server; several servers have equal shares."""
    needs: dict[str, object] = {
        "job": "train",
        "n_workers": 2,
        "n_servers": 1,
        "worker_bytes": 8 * GIB,
        "server_bytes": 1 * GIB,
        "gradient_bytes": 102e6,
    }
    needs |= requirements
    n_servers = int(needs["n_servers"])
    needs.setdefault("shard_frac", (1.0 / max(n_servers, 1),) * n_servers)
    n = len(slots) + len(hosts)
    values = np.asarray(draws if draws is not None else [(7 * i % n + 0.5) / n for i in range(n)], dtype=np.float64)
    values.flags.writeable = False
    return PlacementView(
        job=Requirements(**needs),
        slots=tuple(slots),
        hosts=tuple(hosts),
        draws=values,
        path_bytes_per_s=star(hosts),
        path_latency_s=latency_s,
    )


def unequal(n_hosts: int = 4, per_host: int = 2, **requirements: object) -> PlacementView:
    """Hosts that are ever faster, of ever less memory and ever better connected; every other one half busy."""
    hosts = [host(f"h{i}", network_bytes_per_s=(1 + i) * GBIT_PER_S, update_s=0.02 / (1 + i)) for i in range(n_hosts)]
    slots = [
        slot(
            f"h{i}/gpu{j}",
            0.4 / (1 + i),
            available_frac=0.5 if i % 2 else 1.0,
            card=f"h{i}/card{j // 2}",
            card_capacity=1.5,
            free_bytes=(16 - i % 8) * GIB,
        )
        for i in range(n_hosts)
        for j in range(per_host)
    ]
    return view(slots, hosts, **requirements)


def job(**fields: object) -> Job:
    """A job of two workers with known compute times."""
    values: dict[str, object] = {
        "name": "train",
        "workload": KnownCompute(compute_s=(0.1, 0.3), variables=(Variable("w", 1000),), server_update_s=0.02),
        "dataset": None,
        "batch": 1,
        "n_workers": 2,
        "n_servers": 0,
        "n_steps": 3,
        "jitter_cv": 0.0,
        "placement": PolicyChoice(policy="default-tensorflow"),
        "aggregation": PolicyChoice(policy="ring"),
    }
    return Job(**(values | fields))


def with_parameters(policy: str, parameters: Mapping[str, object], **fields: object) -> Job:
    return job(**fields, placement=PolicyChoice(policy=policy, parameters=parameters))


def ranks(*hosts: str, servers: Sequence[str] = ()) -> AggregationView:
    """One rank on each host named, in order."""
    return AggregationView(
        ranks=tuple(
            RankView(device=f"{name}/gpu{i}", host=name, kind="V100", compute_s=0.1, available_frac=1.0)
            for i, name in enumerate(hosts)
        ),
        servers=tuple(servers),
        gradient_bytes=102e6,
        path_bytes_per_s=lambda a, b: math.inf if a == b else GBIT_PER_S,
    )


GPU = DeviceSpec(
    name="P", kind="gpu", flop_per_s=1e13, memory_bytes=12 * GIB, memory_bytes_per_s=5e11, source="made up for tests"
)
DIE = DeviceSpec(
    name="D",
    kind="gpu",
    flop_per_s=4e12,
    memory_bytes=11 * GIB,
    memory_bytes_per_s=2e11,
    dies_per_card=2,
    card_capacity=1.5,
    source="made up for tests",
)
CPU = DeviceSpec(
    name="C",
    kind="cpu",
    flop_per_s=1e12,
    memory_bytes=0.0,
    memory_bytes_per_s=5e10,
    n_cores=16,
    source="made up for tests",
)


def cluster() -> Cluster:
    """A GPU host, a busy host with a card of two dies, and a host whose CPU is a worker, around one switch."""
    hosts = (
        Host(
            name="a",
            devices=(Device(name="a/gpu0", host="a", card="a/gpu0", spec=GPU),),
            cpu=CPU,
            n_cores=16,
            memory_bytes=64 * GIB,
        ),
        Host(
            name="b",
            devices=tuple(Device(name=f"b/gpu{i}", host="b", card="b/card0", spec=DIE) for i in range(2)),
            cpu=CPU,
            n_cores=16,
            memory_bytes=32 * GIB,
            background=Background(
                gpu=((0.0, 0.5), (60.0, 0.9)), cpu=((0.0, 0.25),), nic=((0.0, 0.2),), memory_frac=0.5
            ),
        ),
        Host(
            name="c",
            devices=(Device(name="c/cpu", host="c", card="c/cpu", spec=CPU),),
            cpu=CPU,
            n_cores=8,
            memory_bytes=16 * GIB,
            background=Background(cpu=((0.0, 0.1),)),
        ),
    )
    links = (
        Link(a="a/gpu0", b="a", bytes_per_s=12e9, latency_s=1e-6),
        Link(a="b/gpu0", b="b/card0", bytes_per_s=12e9, latency_s=0.0),
        Link(a="b/gpu1", b="b/card0", bytes_per_s=12e9, latency_s=0.0),
        Link(a="b/card0", b="b", bytes_per_s=10e9, latency_s=1e-6),
        Link(a="c/cpu", b="c", bytes_per_s=5e10, latency_s=0.0),
        Link(a="a", b="switch", bytes_per_s=10 * GBIT_PER_S, latency_s=25e-6),
        Link(a="b", b="switch", bytes_per_s=1 * GBIT_PER_S, latency_s=25e-6, background=((0.0, 0.2),)),
        Link(a="c", b="switch", bytes_per_s=1 * GBIT_PER_S, latency_s=25e-6, background=IDLE),
    )
    return Cluster(hosts=hosts, switches=("switch",), links=links)


@st.composite
def small_views(draw: st.DrawFn, *, only_compute: bool = False) -> PlacementView:
    """Views of up to four hosts and seven devices, some taken, some busy, on cards of one or two dies."""
    hosts, slots = [], []
    for i in range(draw(st.integers(1, 4))):
        fields = (
            {}
            if only_compute
            else {
                "network_bytes_per_s": draw(st.sampled_from([1.0, 10.0, 25.0])) * GBIT_PER_S,
                "cpu_available_frac": draw(st.sampled_from([0.2, 1.0])),
            }
        )
        hosts.append(host(f"h{i}", **fields))
        n_dies, capacity = draw(st.sampled_from([(1, 1.0), (2, 1.2), (2, 2.0)]))
        compute_s, available = draw(st.sampled_from([0.05, 0.1, 0.4])), draw(st.sampled_from([0.3, 0.5, 1.0]))
        slots += [
            slot(
                f"h{i}/gpu{j}",
                compute_s,
                available_frac=available,
                card=f"h{i}/card{j // n_dies}",
                card_capacity=capacity,
                taken=draw(st.sampled_from([False, False, False, True])),
            )
            for j in range(draw(st.integers(1, 2)))
        ]
    n_free = sum(not each.taken for each in slots)
    n_servers = draw(st.integers(0, min(2, len(hosts))))
    first_frac = draw(st.sampled_from([0.5, 0.8, 1.0]))
    requirements = {
        "n_workers": draw(st.integers(1, max(n_free, 1))),
        "n_servers": n_servers,
        "shard_frac": (first_frac, 1.0 - first_frac) if n_servers == 2 else (1.0,) * n_servers,
        "gradient_bytes": 0.0 if only_compute else draw(st.sampled_from([4e6, 102e6, 500e6])),
    }
    return view(slots, hosts, **requirements)
