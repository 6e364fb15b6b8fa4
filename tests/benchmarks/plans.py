"""The plans that are timed, built as tests build theirs."""

from dataclasses import replace

from clusters import CPU, GPU, known_job, placed, plan_of, star

from hetsim.model.aggregation import Group, Messages, Rank
from hetsim.model.cluster import Cluster, Device, Host, Link
from hetsim.model.instructions import Delay, Flow, Work
from hetsim.model.plan import Plan

NIC_BYTES_PER_S = 1.25e9
LATENCY_S = 25e-6


def parameter_server(n_workers: int, n_steps: int) -> Plan:
    """Unequal workers with jitter, synchronous, one server on a host of its own that is everybody's bottleneck."""
    compute_s = [0.1 * (1.0 + 0.03 * rank) for rank in range(n_workers)]
    job = known_job(compute_s, [40_000_000], n_steps=n_steps, jitter_cv=0.1, update_s=0.02)
    nics = [NIC_BYTES_PER_S * (1.0 + 0.1 * rank) for rank in range(n_workers)]
    cluster = star([*nics, NIC_BYTES_PER_S], latency_s=LATENCY_S)
    return plan_of(cluster, placed(job, _devices(n_workers), [f"h{n_workers}"]))


def ring_speeds(n_workers: int) -> tuple[list[float], list[float]]:
    """Compute seconds and link rates of unequal workers; 37 and 53 are odd, so powers of two meet every value once."""
    compute_s = [0.01 * (1.0 + (37 * rank % n_workers) / n_workers) for rank in range(n_workers)]
    rates = [1e9 * (1.0 + (53 * rank % n_workers) / n_workers) for rank in range(n_workers)]
    return compute_s, rates


def ring(n_workers: int, message_bytes: int, messages: Messages) -> Plan:
    """One step of a ring among unequal workers on a star."""
    compute_s, rates = ring_speeds(n_workers)
    job = known_job(compute_s, [n_workers * message_bytes], n_servers=0)
    flat = placed(job, _devices(n_workers), architecture="ring")
    assert isinstance(flat.tree, Group)
    return plan_of(star(rates, latency_s=LATENCY_S), replace(flat, tree=replace(flat.tree, messages=messages)))


def two_level(n_hosts: int, n_gpus: int, message_bytes: int) -> Plan:
    """One step of rings inside hosts and rings across them, side by side, all message by message.

    Messages across hosts have the given bytes, those inside n_hosts times as many.
    """
    n = n_hosts * n_gpus
    compute_s, rates = ring_speeds(n)
    firsts = range(0, n, n_gpus)
    nic_rates = [2.0 * rate for rate in ring_speeds(n_hosts)[1]]
    cluster = _hosts([[5.0 * rate for rate in rates[i : i + n_gpus]] for i in firsts], nic_rates)
    members = tuple(
        Group(members=tuple(map(Rank, range(i, i + n_gpus))), architecture="ring", messages="rounds") for i in firsts
    )
    tree = Group(members=members, architecture="ring", messages="rounds")
    job = known_job(compute_s, [n * message_bytes], n_servers=0)
    flat = placed(job, [device.name for device in cluster.devices])
    return plan_of(cluster, replace(flat, tree=tree))


def _hosts(bus_rates: list[list[float]], nic_rates: list[float]) -> Cluster:
    """Hosts on a switch, each with GPUs on links of their own, where all latency is: equal between all pairs."""
    hosts, links = [], []
    for i, (rates, nic) in enumerate(zip(bus_rates, nic_rates, strict=True)):
        host = f"h{i}"
        gpus = tuple(
            Device(name=f"{host}/gpu{j}", host=host, card=f"{host}/card{j}", spec=GPU) for j in range(len(rates))
        )
        hosts.append(Host(name=host, devices=gpus, cpu=CPU, n_cores=16, memory_bytes=64e9))
        links += [
            Link(a=gpu.name, b=host, bytes_per_s=rate, latency_s=LATENCY_S)
            for gpu, rate in zip(gpus, rates, strict=True)
        ]
        links.append(Link(a=host, b="switch", bytes_per_s=nic, latency_s=0.0))
    return Cluster(hosts=tuple(hosts), switches=("switch",), links=tuple(links))


def composite_steps(n_workers: int, n_steps: int) -> Plan:
    """Steps of unequal workers with jitter, each with one ring all-reduce as one flow: no contention."""
    compute_s, rates = ring_speeds(n_workers)
    job = known_job(compute_s, [n_workers * 100_000], n_servers=0, n_steps=n_steps, jitter_cv=0.1)
    flat = placed(job, _devices(n_workers), architecture="ring")
    assert isinstance(flat.tree, Group)
    return plan_of(star(rates, latency_s=LATENCY_S), replace(flat, tree=replace(flat.tree, messages="composite")))


def _devices(n_workers: int) -> list[str]:
    return [f"h{rank}/gpu0" for rank in range(n_workers)]


def n_timeouts(plan: Plan) -> int:
    """Return the timeouts of a naive SimPy model of a plan: one for each work, delay, transfer and latency."""
    return sum(
        program.n_iterations
        * sum(
            isinstance(instruction, Work | Delay | Flow)
            + (isinstance(instruction, Flow) and instruction.latency_ticks > 0)
            for instruction in program.body
        )
        for program in plan.programs
    )
