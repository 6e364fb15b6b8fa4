"""Shares of bytes, and servers on worker hosts and further hosts as BytePS has them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from clusters import known_job, placed, plan_of, star

from hetsim.aggregation.byteps import shares
from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.plan import Plan
from hetsim.units import to_seconds
from hetsim.workload.shards import shard_bytes

NIC = 1.25e9
SIZE = 100_000_000


def plan_for(
    n: int,
    servers: Sequence[str],
    sharding: str | tuple[float, ...],
    *,
    n_hosts: int,
    partition_bytes: float = 0.0,
    update_s: float = 0.0,
) -> Plan:
    """Ranks on the first hosts."""
    job = known_job([0.0] * n, [SIZE], n_servers=len(servers), update_s=update_s)
    ready = placed(job, [f"h{i}/gpu0" for i in range(n)], servers)
    tree = Group(
        members=tuple(Rank(i) for i in range(n)),
        architecture="parameter-server",
        servers=tuple(servers),
        sharding=sharding,
        partition_bytes=partition_bytes,
    )
    return plan_of(star([NIC] * n_hosts), replace(ready, tree=tree))


@pytest.mark.parametrize(("n", "k"), [(2, 0), (3, 0), (4, 0), (3, 1), (4, 1), (4, 2), (4, 3), (4, 4), (2, 2)])
def test_the_shares_of_byteps_keep_all_links_equally_busy(n: int, k: int) -> None:
    # 2 n (n - 1) / (n^2 + k n - 2 k) S / B: Jiang et al., "A unified architecture for accelerating distributed DNN
    # training in heterogeneous GPU/CPU clusters", OSDI 2020. Its two ends: 2 (n - 1) / n S / B as an
    # all-reduce, and S / B.
    optimum = 2 * n * (n - 1) / (n * n + k * n - 2 * k) * SIZE
    if k in {0, n}:
        assert optimum == pytest.approx(SIZE * (2 * (n - 1) / n if k == 0 else 1.0))
    on_worker, on_further = shares(n, k)
    assert n * on_worker + k * on_further == pytest.approx(1.0)
    hosts = [f"h{i}" for i in range(n + k)]
    sharding = (*[on_worker] * n, *[on_further] * k)
    plan = plan_for(n, hosts, sharding, n_hosts=n + k, partition_bytes=SIZE / 64)
    run = simulate(plan, seed=0, replication=0)
    for resource, carried in zip(plan.resources, run.carried.tolist(), strict=True):
        if "switch" in resource.name:
            assert carried == pytest.approx(optimum)
    # The bytes on each link are those of the formula; the time is above it where a worker's link is shared between
    # pushes to unlike servers, so that the next partition waits for the slower of them.
    assert optimum / NIC * (1 - 1e-9) <= to_seconds(run.end) <= optimum / NIC * (1.04 if k in {0, n} else 1.2)


def test_other_shares_are_slower_than_those_of_byteps() -> None:
    times = []
    for on_further in (0.0, shares(3, 1)[1], 0.9):
        sharding = (*[(1 - on_further) / 3] * 3, on_further)
        plan = plan_for(3, [f"h{i}" for i in range(4)], sharding, n_hosts=4, partition_bytes=SIZE / 64)
        times.append(simulate(plan, seed=0, replication=0).end)
    assert times[1] < min(times[0], times[2])


def test_partitions_let_sums_return_while_gradients_go() -> None:
    # both ways at once: n S / B through the one server instead of 2 n S / B, and one partition more each way
    whole = simulate(plan_for(3, ["h3"], "even", n_hosts=4), seed=0, replication=0)
    cut = simulate(plan_for(3, ["h3"], "even", n_hosts=4, partition_bytes=SIZE / 50), seed=0, replication=0)
    assert to_seconds(whole.end) == pytest.approx(2 * 3 * SIZE / NIC, rel=1e-6)
    assert to_seconds(cut.end) == pytest.approx((1 + 1 / 50) * 3 * SIZE / NIC, rel=1e-6)
    assert cut.carried.sum() == pytest.approx(whole.carried.sum())


def test_what_a_server_does_is_divided_among_partitions() -> None:
    one = simulate(plan_for(2, ["h2"], "even", n_hosts=3, update_s=0.08, partition_bytes=SIZE), seed=0, replication=0)
    four = simulate(
        plan_for(2, ["h2"], "even", n_hosts=3, update_s=0.08, partition_bytes=SIZE / 4), seed=0, replication=0
    )
    transfer_s = 2 * SIZE / NIC
    assert to_seconds(one.end) == pytest.approx(2 * transfer_s + 0.08, rel=1e-6)
    assert to_seconds(four.end) == pytest.approx(transfer_s * 5 / 4 + 0.02, rel=1e-6)


def test_given_shares_decide_what_each_server_holds() -> None:
    job = known_job([0.0], [SIZE])
    assert shard_bytes(job.variables, 3, (0.5, 0.25, 0.25)) == (SIZE / 2, SIZE / 4, SIZE / 4)
    # the largest share decides: n S max(share) / B each way
    plan = plan_for(2, ["h2", "h3"], (0.8, 0.2), n_hosts=4)
    got = to_seconds(simulate(plan, seed=0, replication=0).end)
    assert got == pytest.approx(2 * 2 * 0.8 * SIZE / NIC, rel=1e-6)
    assert plan.choices == ("train: synchronous parameter server, given shares: 80 MB on h2, 20 MB on h3",)


def test_a_server_without_a_share_has_no_program() -> None:
    plan = plan_for(2, ["h2", "h3"], (1.0, 0.0), n_hosts=4)
    assert [program.name for program in plan.programs] == ["train/rank 0", "train/rank 1", "train/server 0"]
