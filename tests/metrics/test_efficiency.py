import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hetsim.errors import HetsimError
from hetsim.metrics.efficiency import local_delay, samples_to_target, updates_to_target
from hetsim.model.efficiency import Efficiency

KNOWN = Efficiency(min_steps=1000.0, noise_batch=512.0, target="top-1 90 %", source="a test", basis="assumed")

figures = st.floats(1e-3, 1e9)
delays = st.floats(0.0, 1e6)
efficiencies = st.builds(
    Efficiency,
    min_steps=figures,
    noise_batch=figures,
    delay_factor=st.floats(0.0, 10.0),
    delay_exponent=st.floats(0.1, 3.0),
    target=st.just("a target"),
    source=st.just("a test"),
    basis=st.just("assumed"),
)


@pytest.mark.parametrize(
    ("batch", "delay", "updates"),
    [
        (512.0, 0.0, 2000.0),  # the noise batch takes twice the least updates
        (256.0, 0.0, 3000.0),
        (1e15, 0.0, 1000.0),
        (512.0, 1.0, 3000.0),  # a delay of one doubles the noiseless half
        (32.0, 7.0, 8000.0 + 16000.0),
    ],
)
def test_the_updates_are_those_of_the_formula(batch, delay, updates):
    assert updates_to_target(KNOWN, batch, delay) == pytest.approx(updates, rel=1e-9)
    assert samples_to_target(KNOWN, batch, delay) == pytest.approx(batch * updates, rel=1e-9)


def test_factor_and_exponent_act_on_the_noiseless_part_alone():
    known = replace(KNOWN, delay_factor=0.5, delay_exponent=2.0)
    assert updates_to_target(known, 512.0, 4.0) == 1000.0 * (1.0 + 0.5 * 16.0) + 1000.0
    assert updates_to_target(replace(known, delay_factor=0.0), 512.0, 4.0) == 2000.0
    assert updates_to_target(replace(KNOWN, noise_batch=0.0), 1.0, 0.0) == 1000.0


@given(efficiencies, figures)
def test_without_delay_steps_and_samples_lie_on_the_published_hyperbola(known, batch):
    """(S / S_min - 1) (E / E_min - 1) = 1 with E_min = S_min B_noise: McCandlish et al. 2018, equation 2.11."""
    assume(1e-5 < batch / known.noise_batch < 1e5)
    steps, samples = updates_to_target(known, batch, 0.0), samples_to_target(known, batch, 0.0)
    least = known.min_steps * known.noise_batch
    assert (steps / known.min_steps - 1.0) * (samples / least - 1.0) == pytest.approx(1.0, rel=1e-6)


@given(efficiencies, figures, delays, st.floats(1.0, 100.0), st.floats(0.0, 100.0))
def test_larger_batches_take_fewer_updates_and_more_samples_and_delay_takes_more(known, batch, delay, times, more):
    near = 1.0 + 1e-12
    steps, samples = updates_to_target(known, batch, delay), samples_to_target(known, batch, delay)
    assert updates_to_target(known, batch * times, delay) <= steps * near
    assert samples_to_target(known, batch * times, delay) * near >= samples
    assert updates_to_target(known, batch, delay + more) * near >= steps
    assert steps >= known.min_steps


@given(efficiencies, figures, delays)
def test_delay_costs_as_many_updates_at_every_batch(known, batch, delay):
    extra = updates_to_target(known, batch, delay) - updates_to_target(known, batch, 0.0)
    other = updates_to_target(known, 7.0 * batch, delay) - updates_to_target(known, 7.0 * batch, 0.0)
    assert extra == pytest.approx(other, rel=1e-6, abs=1e-9 * updates_to_target(known, batch, delay))


@pytest.mark.parametrize(
    ("change", "batch", "delay", "message"),
    [
        ({}, 0.0, 0.0, "batch 0.0 must be more than 0"),
        ({}, -1.0, 0.0, "batch -1.0 must be more than 0"),
        ({}, math.nan, 0.0, "batch nan must be"),
        ({}, math.inf, 0.0, "batch inf must be"),
        ({}, 8.0, -0.5, "delay -0.5 must be at least 0"),
        ({}, 8.0, math.nan, "delay nan must be"),
        ({"min_steps": 0.0}, 8.0, 0.0, "min_steps 0.0 must be more than 0"),
        ({"noise_batch": -1.0}, 8.0, 0.0, "noise_batch -1.0 must be at least 0"),
        ({"delay_factor": -1.0}, 8.0, 0.0, "delay_factor -1.0 must be at least 0"),
        ({"delay_exponent": 0.0}, 8.0, 0.0, "delay_exponent 0.0 must be more than 0"),
        ({"delay_exponent": 300.0}, 8.0, 1e9, "more updates than a number can say"),
        ({"min_steps": 1e300, "noise_batch": 1e300}, 8.0, 0.0, "more updates than a number can say"),
    ],
)
def test_nonsense_is_an_error(change, batch, delay, message):
    for count in (updates_to_target, samples_to_target):
        with pytest.raises(HetsimError, match=message):
            count(replace(KNOWN, **change), batch, delay)


def test_a_local_step_is_as_old_as_the_steps_of_others_it_has_not_seen():
    """By counting: the k-th step of a period lacks k rounds of the others' steps."""
    for period in range(1, 40):
        assert local_delay(period, 3) == pytest.approx(sum(range(period)) / period)
    assert local_delay(16, 1) == 0.0


@pytest.mark.parametrize(("period", "n_workers"), [(0.5, 2), (0, 2), (math.nan, 2), (4, 0)])
def test_a_period_or_a_worker_too_few_is_an_error(period, n_workers):
    with pytest.raises(HetsimError, match="must be at least 1"):
        local_delay(period, n_workers)
