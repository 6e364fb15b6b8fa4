"""Small clusters and jobs built by hand, shared by tests."""

from collections.abc import Sequence

from hetsim.model.aggregation import Architecture, Group, Rank, Sharding
from hetsim.model.cluster import Background, Cluster, Device, DeviceSpec, Host, Link
from hetsim.model.job import Job, KnownCompute, PolicyChoice
from hetsim.model.placement import Placement
from hetsim.model.workload import StepTime, Variable
from hetsim.network.routes import Routes
from hetsim.plan.lower import lower
from hetsim.plan.placed import PlacedJob

GPU = DeviceSpec(
    name="gpu", kind="gpu", flop_per_s=1e13, memory_bytes=16e9, memory_bytes_per_s=1e12, source="made up for tests"
)
CPU = DeviceSpec(
    name="cpu", kind="cpu", flop_per_s=1e12, memory_bytes=0.0, memory_bytes_per_s=1e11, n_cores=16, source="made up"
)


def star(
    nic_bytes_per_s: Sequence[float],
    *,
    latency_s: float = 0.0,
    background: Sequence[Background] = (),
    bus_bytes_per_s: float = 1e15,
) -> Cluster:
    """One GPU for each host, every host on one switch; the bus is as good as free unless it is given."""
    hosts, links = [], []
    for i, rate in enumerate(nic_bytes_per_s):
        name = f"h{i}"
        gpu = Device(name=f"{name}/gpu0", host=name, card=f"{name}/card0", spec=GPU)
        load = background[i] if background else Background()
        hosts.append(Host(name=name, devices=(gpu,), cpu=CPU, n_cores=16, memory_bytes=64e9, background=load))
        links.append(Link(a=gpu.name, b=name, bytes_per_s=bus_bytes_per_s, latency_s=0.0))
        links.append(Link(a=name, b="switch", bytes_per_s=rate, latency_s=latency_s, background=load.nic))
    return Cluster(hosts=tuple(hosts), switches=("switch",), links=tuple(links))


def known_job(
    compute_s: Sequence[float],
    variable_bytes: Sequence[int],
    *,
    name: str = "train",
    n_servers: int = 1,
    n_steps: int = 1,
    jitter_cv: float = 0.0,
    update_s: float = 0.0,
) -> Job:
    """A job whose compute times are given."""
    variables = tuple(Variable(f"v{i}", n_bytes // 4) for i, n_bytes in enumerate(variable_bytes))
    return Job(
        name=name,
        workload=KnownCompute(compute_s=tuple(compute_s), variables=variables, server_update_s=update_s),
        dataset=None,
        batch=1,
        n_workers=len(compute_s),
        n_servers=n_servers,
        n_steps=n_steps,
        jitter_cv=jitter_cv,
        placement=PolicyChoice(policy="default-tensorflow"),
        aggregation=PolicyChoice(policy="parameter-server"),
    )


def placed(
    job: Job,
    workers: Sequence[str],
    servers: Sequence[str] = (),
    *,
    architecture: Architecture = "parameter-server",
    sharding: Sharding = "round-robin",
) -> PlacedJob:
    """A job with a flat tree over its ranks in order."""
    workload = job.workload
    assert isinstance(workload, KnownCompute)
    tree = Group(
        members=tuple(Rank(i) for i in range(job.n_workers)),
        architecture=architecture,
        servers=tuple(servers),
        sharding=sharding,
    )
    times = tuple(
        StepTime(forward_s=seconds, backward_s=0.0, basis="measured", method="given", source="test")
        for seconds in workload.compute_s
    )
    return PlacedJob(job=job, placement=Placement(tuple(workers), tuple(servers)), tree=tree, step_times=times)


def plan_of(cluster: Cluster, *jobs: PlacedJob):
    """Lower jobs on a cluster."""
    return lower(cluster, Routes(cluster), jobs)
