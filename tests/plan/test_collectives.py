"""Collectives of one level: closed forms with their sources, on a star of equal links."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from clusters import known_job, placed, plan_of, star

from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.instructions import Flow
from hetsim.model.plan import Plan
from hetsim.model.result import PlanRun, Trace
from hetsim.plan.double_tree import double_tree
from hetsim.plan.pieces import n_pieces
from hetsim.units import to_seconds

NIC = 1.25e9
SIZE = 100_000_000


def flat(n: int, architecture: str, **fields: object) -> Group:
    return Group(members=tuple(Rank(i) for i in range(n)), architecture=architecture, **fields)


def plan_for(
    tree: Group, nics: Sequence[float], *, latency_s: float = 0.0, compute_s: Sequence[float] = (), n_steps: int = 1
) -> Plan:
    n = len(nics)
    job = known_job(compute_s or [0.0] * n, [SIZE], n_servers=0, n_steps=n_steps)
    ready = placed(job, [f"h{i}/gpu0" for i in range(n)], architecture="ring")
    return plan_of(star(nics, latency_s=latency_s), replace(ready, tree=tree))


def run(plan: Plan) -> PlanRun:
    return simulate(plan, seed=0, replication=0)


def time_s(plan: Plan) -> float:
    return to_seconds(run(plan).end)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16])
@pytest.mark.parametrize("latency_s", [0.0, 25e-6])
def test_halving_doubling(n: int, latency_s: float) -> None:
    # 2 lg p alpha + 2 (p - 1) / p S / B, and 2 alpha + 2 S / B more where p is the power of two below n: Thakur,
    # Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521. A message crosses two links of the star.
    rounds, power = n.bit_length() - 1, 1 << (n.bit_length() - 1)
    folds = 0 if power == n else 2
    plan = plan_for(flat(n, "halving-doubling"), [NIC] * n, latency_s=latency_s)
    expected = (2 * rounds + folds) * 2 * latency_s + (2 * (power - 1) / power + folds) * SIZE / NIC
    assert time_s(plan) == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 13, 16])
def test_a_double_tree_takes_twice_the_bytes_whatever_the_number_of_members(n: int) -> None:
    # 2 S / B, and at most 2 S / (k B) for each level to fill the pipeline up and down: Sanders, Speck and Traeff 2009,
    # doi:10.1016/j.parco.2009.09.001. Two members send S/2 each way in each tree.
    depth = max(max(tree.heights()) for tree in double_tree(n))
    got = time_s(plan_for(flat(n, "tree"), [NIC] * n))
    least = (SIZE if n == 2 else 2 * SIZE) / NIC
    assert least * (1 - 1e-9) <= got <= least * (1 + 2 * (depth + 1) / n_pieces(SIZE / 2))


@pytest.mark.parametrize("n", [2, 3])
def test_a_double_tree_of_few_members_has_no_pipeline_to_fill(n: int) -> None:
    # Of three, one member sends, and one receives, S going up and S coming down, each without a break, whatever the
    # number of pieces.
    assert time_s(plan_for(flat(n, "tree"), [NIC] * n)) == pytest.approx((n - 1) * SIZE / NIC, rel=1e-8)


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_the_latency_of_a_double_tree_grows_with_the_depth(n: int) -> None:
    # 2 log2(n) alpha for one piece: NCCL, src/graph/tuning.cc; a piece that is next to nothing.
    job = known_job([0.0] * n, [4], n_servers=0)
    ready = placed(job, [f"h{i}/gpu0" for i in range(n)], architecture="tree")
    plan = plan_of(star([NIC] * n, latency_s=0.001), ready)
    assert time_s(plan) == pytest.approx(2 * (n.bit_length() - 1) * 0.002, rel=1e-3)


@pytest.mark.parametrize("n", range(2, 40))
def test_the_two_trees_span_all_members_and_complement_each_other(n: int) -> None:
    trees = double_tree(n)
    for tree in trees:
        assert all(tree.depth(position) <= n.bit_length() for position in range(n))
        assert max(tree.parents.count(position) for position in range(n)) <= 2
    inside = [{parent for parent in tree.parents if parent >= 0} for tree in trees]
    # but for the root of the first, which has one child, nobody is inside both
    assert inside[0] & inside[1] <= {0}


@pytest.mark.parametrize("architecture", ["ring", "tree", "halving-doubling"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_steps_repeat_and_bytes_are_conserved(architecture: str, n: int) -> None:
    tree = flat(n, architecture)
    compute_s = [0.01 * (i % 3) for i in range(n)]
    one = run(plan_for(tree, [NIC] * n, compute_s=compute_s))
    plan = plan_for(tree, [NIC] * n, compute_s=compute_s, n_steps=3)
    three = run(plan)
    assert three.carried == pytest.approx(3 * one.carried)
    sent = sum(
        carried
        for resource, carried in zip(plan.resources, three.carried.tolist(), strict=True)
        if resource.name.endswith(">switch")
    )
    received = sum(
        carried
        for resource, carried in zip(plan.resources, three.carried.tolist(), strict=True)
        if resource.name.startswith("switch>")
    )
    # n - 1 members have to send their bytes once, and n - 1 have to receive the sum
    power = 1 << (n.bit_length() - 1)
    expected = 2 * (n - 1) * SIZE
    if architecture == "halving-doubling":
        expected = (2 * (power - 1) + 2 * (n - power)) * SIZE
    assert sent == pytest.approx(received)
    assert sent == pytest.approx(3 * expected)


@pytest.mark.parametrize("n", [2, 3, 8, 65])
@pytest.mark.parametrize("latency_s", [0.0, 25e-6])
def test_a_ring_as_one_flow_takes_as_long_as_its_rounds(n: int, latency_s: float) -> None:
    compute_s = [0.01 * (i % 2) for i in range(n)]
    made = [
        plan_for(flat(n, "ring", messages=messages), [NIC] * n, latency_s=latency_s, compute_s=compute_s, n_steps=2)
        for messages in ("rounds", "composite")
    ]
    rounds, composite = (run(plan) for plan in made)
    assert composite.end == pytest.approx(rounds.end, rel=1e-6 if n < 65 else 0.05)
    assert composite.carried[: len(made[1].resources)] == pytest.approx(_by_name(*made, rounds))
    assert 2 * composite.n_events < rounds.n_events or n == 2


def test_a_ring_as_one_flow_counts_and_exposes_as_much_as_its_rounds() -> None:
    # The flow is the communication of all its members.
    compute_s = [0.01 * (i % 2) for i in range(8)]
    rounds, composite = (
        run(plan_for(flat(8, "ring", messages=messages), [NIC] * 8, compute_s=compute_s, n_steps=3)).jobs[0]
        for messages in ("rounds", "composite")
    )

    def exposed(trace: Trace) -> np.ndarray:
        return np.diff(trace.step_end.max(axis=1), prepend=0) - trace.compute_end.max(axis=1)

    np.testing.assert_allclose(exposed(composite), exposed(rounds), rtol=1e-6)
    np.testing.assert_allclose(composite.communication, rounds.communication, rtol=1e-6)


def _by_name(first: Plan, second: Plan, of_first: PlanRun) -> list[float]:
    carried = dict(zip((each.name for each in first.resources), of_first.carried.tolist(), strict=True))
    return [carried[each.name] for each in second.resources]


def test_a_ring_of_more_than_64_members_is_one_flow_unless_rounds_are_asked_for() -> None:
    for n, messages, text, n_flows in (
        (64, "auto", "message by message", 64 * 126),
        (65, "auto", "as one flow", 1),
        (65, "rounds", "message by message", 65 * 128),
        (2, "composite", "as one flow", 1),
    ):
        plan = plan_for(flat(n, "ring", messages=messages), [NIC * (1 + i) for i in range(n)])
        flows = [entry for program in plan.programs for entry in program.body if isinstance(entry, Flow)]
        assert (plan.choices, len(flows)) == ((f"train: ring all-reduce of {n} ranks, {text}",), n_flows)


def test_a_ring_as_one_flow_moves_at_the_rate_of_its_slowest_link() -> None:
    # 2 (n - 1) / n S / B of the slowest link: Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002
    plan = plan_for(flat(4, "ring", messages="composite"), [NIC, NIC / 4, NIC, NIC])
    assert time_s(plan) == pytest.approx(1.5 * SIZE / (NIC / 4), rel=1e-8)


def test_a_slower_link_never_helps() -> None:
    for architecture in ("ring", "tree", "halving-doubling"):
        equal = time_s(plan_for(flat(6, architecture), [NIC] * 6))
        for slow in range(6):
            nics = [NIC / 3 if i == slow else NIC for i in range(6)]
            assert time_s(plan_for(flat(6, architecture), nics)) > equal


@pytest.mark.parametrize(
    ("fields", "nics", "compute_s", "how"),
    [
        ({}, [NIC] * 4, [0.01] * 4, "as one flow"),
        ({}, [NIC, NIC, NIC, 2 * NIC], [0.01] * 4, "message by message"),
        ({}, [NIC] * 4, [0.01, 0.01, 0.01, 0.02], "message by message"),
        ({"messages": "rounds"}, [NIC] * 4, [0.01] * 4, "message by message"),
        ({"messages": "composite"}, [NIC, NIC, NIC, 2 * NIC], [0.01] * 4, "as one flow"),
    ],
)
def test_a_ring_is_one_flow_by_itself_only_where_that_says_the_same(
    fields: dict[str, str], nics: list[float], compute_s: list[float], how: str
) -> None:
    plan = plan_for(flat(4, "ring", **fields), nics, compute_s=compute_s, latency_s=25e-6, n_steps=2)
    assert how in plan.choices[0]
    rounds = plan_for(flat(4, "ring", messages="rounds"), nics, compute_s=compute_s, latency_s=25e-6, n_steps=2)
    if nics == [NIC] * 4:
        # Each round is rounded up to a tick by itself.
        assert 0 <= run(rounds).end - run(plan).end <= 2 * 2 * 3
