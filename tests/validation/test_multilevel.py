"""Multi-level local SGD against schemes that wait (Castiglia et al., ICLR 2021; github.com/rpi-nsl/MLL-SGD).

Ten hubs of ten workers; in each hub one worker finishes a step in its slot with probability 0.6 and nine with 0.9; 32
steps between two global averages. Multi-level local SGD waits for nobody, so that a global round is 32 slots. Local SGD
waits until every worker has made 32 steps, hierarchical local SGD in each hub until all of it have made 8, four times.
"""

from dataclasses import replace

import numpy as np
import pytest
from clusters import known_job, placed, plan_of, star

from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.job import Slots
from hetsim.units import TICKS_PER_S

N_HUBS, N_IN_HUB = 10, 10
N = N_HUBS * N_IN_HUB
P = (0.6,) + (0.9,) * (N_IN_HUB - 1)
STEPS = 32
N_ROUNDS = 20
MOST_SLOTS = 400


def slots_per_round(tree: Group, unfinished: str, n_rounds: int = N_ROUNDS) -> np.ndarray:
    """Slots of one second that each global round takes, over links that are as good as free."""
    slots = Slots(probability=P * N_HUBS, unfinished=unfinished)  # type: ignore[arg-type]
    job = replace(known_job([1.0] * N, [4], n_steps=STEPS * n_rounds), slots=slots)
    at = replace(placed(job, [f"h{i}/gpu0" for i in range(N)]), tree=tree)
    (trace,) = simulate(plan_of(star([1e15] * (N + N_HUBS)), at), seed=7, replication=0).jobs
    ends = trace.step_end[STEPS - 1 :: STEPS].max(axis=1) / TICKS_PER_S
    return np.diff(ends, prepend=0.0)


def hubs(period: int) -> tuple[Group, ...]:
    return tuple(
        Group(
            members=tuple(Rank(hub * N_IN_HUB + i) for i in range(N_IN_HUB)),
            architecture="parameter-server",
            servers=(f"h{N + hub}",),
            sync="local",
            period=period,
        )
        for hub in range(N_HUBS)
    )


def slots_until(n_steps: int, p: float) -> np.ndarray:
    """Probability that a worker has made so many steps after 0, 1, ... slots: a negative binomial distribution."""
    tries = np.arange(MOST_SLOTS)
    # Steps made after t slots, one slot after the other.
    made = np.zeros(n_steps + 1)
    made[0] = 1.0
    done = np.empty(MOST_SLOTS)
    for t in tries:
        done[t] = made[n_steps]
        stays, moves = made * (1 - p), made * p
        stays[n_steps] = made[n_steps]
        stays[1:] += moves[:-1]
        made = stays
    return done


def mean_and_deviation(done: np.ndarray) -> tuple[float, float]:
    mass = np.diff(done, prepend=0.0)
    slots = np.arange(done.size)
    mean = float(mass @ slots)
    return mean, float(np.sqrt(mass @ (slots - mean) ** 2))


def all_of(workers: np.ndarray) -> np.ndarray:
    return np.prod(workers, axis=0)


def agrees(slots: np.ndarray, done: np.ndarray) -> float:
    """See that the mean of the rounds is what is expected, within four standard errors, and return what is."""
    mean, deviation = mean_and_deviation(done)
    assert slots.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(slots.size))
    return mean


def test_multi_level_waits_for_nobody() -> None:
    tree = Group(members=hubs(8), architecture="gossip", sync="local", period=4)
    np.testing.assert_allclose(slots_per_round(tree, "skip", 2), STEPS, rtol=1e-6)


def test_local_waits_for_all() -> None:
    flat = Group(
        members=tuple(Rank(i) for i in range(N)),
        architecture="parameter-server",
        servers=(f"h{N}",),
        sync="local",
        period=STEPS,
    )
    done = all_of(np.array([slots_until(STEPS, p) for p in P])) ** N_HUBS
    assert agrees(slots_per_round(flat, "repeat"), done) == pytest.approx(63.13, abs=0.01)


def test_hierarchical_waits_in_every_hub_round() -> None:
    tree = Group(members=hubs(8), architecture="gossip", sync="local", period=4)
    of_hub = np.diff(all_of(np.array([slots_until(8, p) for p in P])), prepend=0.0)
    four = of_hub
    for _ in range(3):
        four = np.convolve(four, of_hub)[:MOST_SLOTS]
    done = np.cumsum(four) ** N_HUBS
    assert agrees(slots_per_round(tree, "repeat"), done) == pytest.approx(63.46, abs=0.01)
