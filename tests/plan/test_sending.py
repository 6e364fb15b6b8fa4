"""Messages with transports in plans, against closed forms, on both executors."""

from dataclasses import replace

import pytest
from both import equal_run
from clusters import known_job, placed, star

from hetsim.model.aggregation import Architecture
from hetsim.model.cluster import Cluster
from hetsim.model.impairment import Impairment, Impairments
from hetsim.model.plan import Plan
from hetsim.model.transport import IDEAL, Domain, Transport
from hetsim.network.routes import Routes
from hetsim.plan.lower import lower
from hetsim.plan.placed import PlacedJob
from hetsim.units import TICKS_PER_S

NIC = 1e9
SIZE = 96_000_000
LATENCY = 1e-3


def job(transport: Transport, n: int, architecture: Architecture, *, messages: str = "rounds", **known) -> PlacedJob:
    servers = ["h0"] if architecture == "parameter-server" else []
    settings = {"n_servers": len(servers), "n_steps": 1} | known
    made = replace(known_job([0.0] * n, [SIZE], **settings), transport=transport)
    found = placed(made, [f"h{i + len(servers)}/gpu0" for i in range(n)], servers, architecture=architecture)
    return replace(found, tree=replace(found.tree, messages=messages))


def plan_of(cluster: Cluster, *jobs: PlacedJob, replication: int = 0) -> Plan:
    return lower(cluster, Routes(cluster), jobs, seed=5, replication=replication)


def seconds(plan: Plan) -> float:
    return equal_run(plan).end / TICKS_PER_S


def leaving(cluster: Cluster, states: Impairments) -> Cluster:
    """The cluster with impairments of what leaves each host."""
    links = tuple(replace(link, from_a=states) if link.b == "switch" else link for link in cluster.links)
    return replace(cluster, links=links)


@pytest.mark.parametrize("messages", ["rounds", "composite"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_pipelined_ring_pays_for_its_passes(n: int, messages: str) -> None:
    transport = Transport(name="x", efficiency_frac=0.8, latency="pipelined", pass_rtts=1.5, message_s=1e-5)
    rtt_s = 4 * LATENCY
    expected = 2 * (n - 1) / n * SIZE / 0.8 / NIC + 2 * 1.5 * rtt_s + 2 * (n - 1) * 1e-5
    cluster = star([NIC] * n, latency_s=LATENCY)
    assert seconds(plan_of(cluster, job(transport, n, "ring", messages=messages))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("messages", ["rounds", "composite"])
def test_a_stepwise_ring_pays_in_every_round(messages: str) -> None:
    transport = Transport(name="x", step_bytes=SIZE / 8)
    # Four members: 6 messages of SIZE / 4, each of which is two steps.
    expected = 1.5 * SIZE / NIC + 6 * (2 * LATENCY + 2 * 4 * LATENCY)
    plan = plan_of(star([NIC] * 4, latency_s=LATENCY), job(transport, 4, "ring", messages=messages))
    assert seconds(plan) == pytest.approx(expected, rel=1e-9)


def test_a_window_bounds_a_message_but_not_its_link() -> None:
    transport = Transport(name="x", window_bytes=NIC * 4 * LATENCY / 10)
    cluster = star([NIC] * 3, latency_s=LATENCY)
    # Two workers push and pull at a tenth of what their links carry, so the server's link never fills.
    plan = plan_of(cluster, job(transport, 2, "parameter-server"))
    assert seconds(plan) == pytest.approx(2 * (10 * SIZE / NIC + 2 * LATENCY), rel=1e-9)
    assert sum(resource.kind == "stream" for resource in plan.resources) == 4
    wide = plan_of(cluster, job(replace(transport, window_bytes=NIC), 2, "parameter-server"))
    assert not any(resource.kind == "stream" for resource in wide.resources)


def test_inside_a_host_there_is_no_transport() -> None:
    transport = Transport(name="x", efficiency_frac=0.5, window_bytes=1.0, message_rtts=10.0)
    cluster = star([NIC] * 2, latency_s=LATENCY)
    alone = placed(replace(known_job([0.0], [SIZE]), transport=transport), ["h0/gpu0"], ["h0"])
    assert plan_of(cluster, alone) == plan_of(cluster, replace(alone, job=replace(alone.job, transport=IDEAL)))


def test_connections_are_shares() -> None:
    """Two jobs that push over one link: three connections get three quarters of it, while both push."""
    cluster = star([NIC / 2, 1e12, 1e12])
    many, one = Transport(name="many", n_streams=3), Transport(name="one", n_streams=1)
    jobs = [
        placed(replace(known_job([0.0], [SIZE], name=name), transport=transport), [device], ["h0"])
        for name, transport, device in (("many", many, "h1/gpu0"), ("one", one, "h2/gpu0"))
    ]
    run = equal_run(plan_of(cluster, *jobs))
    alone_s = SIZE / (NIC / 2)
    end_of_many, end_of_one = (trace.step_end[-1, 0] / TICKS_PER_S for trace in run.jobs)
    # Pulls: 3 : 1 until the first job has all, at 4/3; the other one has the rest at 2. The first job's push is alone
    # until then, so a third of it is left for a share of 3/4; and of the other's, 8/9 for the whole link.
    assert end_of_many == pytest.approx((2 + 4 / 9) * alone_s, rel=1e-9)
    assert end_of_one == pytest.approx((2 + 4 / 9 + 8 / 9) * alone_s, rel=1e-9)
    assert run.carried.max() == pytest.approx(2 * SIZE, rel=1e-9)


def test_equal_transports_need_no_weights() -> None:
    cluster = star([NIC] * 3)
    plan = plan_of(cluster, job(Transport(name="x", n_streams=7), 2, "parameter-server"))
    assert {use for program in plan.programs for i in program.body for _, use in getattr(i, "usage", ())} == {1.0}


def test_an_outage_stops_and_a_slow_spell_slows() -> None:
    step_s = SIZE / NIC
    states = (
        Impairment(),
        Impairment(at_s=step_s / 2, bytes_per_s=0.0),
        Impairment(at_s=step_s, bytes_per_s=NIC / 4),
        Impairment(at_s=2 * step_s),
    )
    cluster = leaving(star([NIC] * 2), states)
    # A ring of two sends half of the bytes twice: once before the outage, then at a quarter of the rate until it ends.
    assert seconds(plan_of(cluster, job(IDEAL, 2, "ring"))) == pytest.approx(2.25 * step_s, rel=1e-9)


def test_a_latency_that_changes_counts_for_what_sets_out_later() -> None:
    half_s = SIZE / 2 / NIC
    states = (Impairment(delay_s=1e-3), Impairment(at_s=half_s, delay_s=5e-3))
    plan = plan_of(leaving(star([NIC] * 2), states), job(IDEAL, 2, "ring"))
    assert seconds(plan) == pytest.approx(2 * half_s + 1e-3 + 5e-3, rel=1e-9)


def test_a_window_follows_the_round_trip() -> None:
    """Both directions are delayed by 1 ms, then by 4: a window that fills a tenth of the link fills a fortieth then."""
    transport = Transport(name="x", window_bytes=NIC / 10 * 2e-3)
    slow_s = SIZE / (NIC / 10)
    states = (Impairment(delay_s=1e-3), Impairment(at_s=slow_s, delay_s=4e-3))
    cluster = leaving(star([NIC] * 2), states)
    # A message by itself is sent by each of two members of a ring of two: 2 rounds of SIZE / 2, one in each state.
    expected = 1e-3 + slow_s / 2 + 1e-3 + (slow_s / 2 - 2e-3) + 4 * 2e-3
    assert seconds(plan_of(cluster, job(transport, 2, "ring"))) == pytest.approx(expected, rel=1e-9)


def test_unfair_shares_are_drawn_anew_in_each_replication() -> None:
    cluster = star([NIC, 1e12, 1e12, 1e12])
    fair = job(IDEAL, 3, "parameter-server", n_steps=3)
    unfair = replace(fair, job=replace(fair.job, unfairness=0.8))
    first, again, other = (plan_of(cluster, unfair, replication=r) for r in (0, 0, 1))
    assert first == again != other
    for plan in (first, other):
        run = equal_run(plan)
        # The link is busy until all have sent all, whatever the shares; and the bytes are the same.
        assert run.carried.max() == pytest.approx(9 * SIZE, rel=1e-9)
        assert run.end / TICKS_PER_S == pytest.approx(seconds(plan_of(cluster, fair)), rel=0.5)


def test_what_is_outside_is_said_once() -> None:
    measured = Transport(name="x", domain=Domain(rtt_s=(0.0, 1e-3), message_bytes=(0.0, 1e6)), source="somewhere")
    plan = plan_of(star([NIC] * 3, latency_s=LATENCY), job(measured, 3, "ring"))
    assert plan.warnings == (
        "train: transport x: round trip 4 ms, measured from 0 s to 1 ms",
        "train: transport x: size 96 MB, measured from 0 B to 1 MB",
    )
    assert plan_of(star([NIC] * 3, latency_s=LATENCY), job(IDEAL, 3, "ring")).warnings == ()


def test_what_counts_for_nothing_is_said() -> None:
    lossy = leaving(star([NIC] * 3), (Impairment(loss_frac=0.01, disorder_frac=0.5),))
    assert plan_of(lossy, job(IDEAL, 3, "ring")).warnings == (
        "train: transport ideal: loss 1.000%, which counts for nothing",
        "train: transport ideal: 50.0% of packets out of order or twice, which counts for nothing",
    )


@pytest.mark.parametrize("architecture", ["ring", "tree", "halving-doubling", "parameter-server"])
def test_every_collective_runs_with_every_kind_of_latency(architecture: Architecture) -> None:
    cluster = star([NIC] * 6, latency_s=LATENCY)
    ends = []
    for latency in ("stepwise", "pipelined", "cold"):
        transport = Transport(name="x", latency=latency, message_rtts=1.0, pass_rtts=1.0)
        ends.append(seconds(plan_of(cluster, job(transport, 5, architecture))))
    stepwise, pipelined, cold = ends
    assert pipelined <= stepwise < cold
