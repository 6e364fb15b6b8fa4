"""The kernel against the engine, and the engine against a SimPy loop that does nothing else."""

from collections.abc import Iterator

import simpy
from measure import Figure, interleaved, timed
from plans import n_timeouts, parameter_server, ring

from hetsim.engine.compiled import CompiledPlan
from hetsim.engine.simulate import simulate
from hetsim.model.plan import Plan

N_WORKERS = 16
N_STEPS = 100
N_RUNS = 100
"""Runs of the kernel in one measurement: one alone takes less than half a millisecond."""


def kernel_against_engine() -> Figure:
    """16 unequal workers, synchronous parameter server, jitter, exact fluid sharing."""
    plan = parameter_server(N_WORKERS, N_STEPS)
    compiled = CompiledPlan(plan)

    def ours() -> float:
        return timed(lambda: _run_all(compiled)) / N_RUNS

    if compiled.run(seed=0, replication=0).end != simulate(plan, seed=0, replication=0).end:
        raise AssertionError("kernel and engine end at different ticks")
    ours_s, peer_s = interleaved(ours, lambda: timed(lambda: simulate(plan, seed=0, replication=0)), n_repetitions=5)
    n = N_WORKERS * N_STEPS
    note = f"kernel {n / ours_s / 1e6:.3g} million worker-steps/s on one core, SimPy engine {n / peer_s / 1e6:.3g}"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{n} worker-steps", note=note)


def _run_all(compiled: CompiledPlan) -> None:
    """Run, and drop each recording before the next one, as a sweep does."""
    for replication in range(N_RUNS):
        compiled.run(seed=0, replication=replication)


def engine_against_loop() -> Figure:
    """The engine on the same plan, and as many timeouts in as many bare SimPy processes."""
    plan = parameter_server(N_WORKERS, N_STEPS)
    return _against_loop(plan, f"{N_WORKERS} workers, {N_STEPS} steps", n_repetitions=21)


def composite_ring() -> Figure:
    """One all-reduce among 4,096 workers as one composite flow in the engine."""
    plan = ring(4096, 100_000, "composite")
    return _against_loop(plan, "4,096 workers, one all-reduce as one composite flow", n_repetitions=3)


def _against_loop(plan: Plan, what: str, *, n_repetitions: int) -> Figure:
    n, n_processes = n_timeouts(plan), len(plan.programs)
    ours_s, peer_s = interleaved(
        lambda: timed(lambda: simulate(plan, seed=0, replication=0)),
        lambda: timed(lambda: bare_loop(n, n_processes)),
        n_repetitions=n_repetitions,
    )
    note = f"{what}: engine takes {ours_s / peer_s:.3g} times a bare SimPy loop with as many timeouts and processes"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{n} timeouts", note=note)


def bare_loop(n_timeouts: int, n_processes: int) -> float:
    """Run processes that do nothing but wait, and return the time at the end."""
    env = simpy.Environment()
    for index in range(n_processes):
        n = n_timeouts // n_processes + (index < n_timeouts % n_processes)
        env.process(_wait(env, n, 1.0 + index / n_processes))
    env.run()
    return float(env.now)


def _wait(env: simpy.Environment, n: int, delay: float) -> Iterator[simpy.Event]:
    for _ in range(n):
        yield env.timeout(delay)
