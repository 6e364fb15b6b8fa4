"""Updates and samples to a target accuracy, where schemes differ in batch and in staleness.

Every formula here is a model of the mean over runs, with learning rates tuned for each batch; none knows schedules,
momentum or a loss of final accuracy at large batches and delays.
"""

import math
from typing import Final

from hetsim.errors import HetsimError
from hetsim.model.efficiency import Efficiency

DELAY_SOURCE: Final = (
    "Stich and Karimireddy, JMLR 21 (2020), arXiv:1909.05350; of the mean delay: Koloskova, Stich and Jaggi, NeurIPS "
    "2022, arXiv:2206.08307"
)
"""Of the default penalty: the noiseless part of the updates grows linearly with the delay, the noise part not at all.
These are bounds, up to constants; that the factor is one was measured by nobody."""


def updates_to_target(efficiency: Efficiency, batch: float, delay: float) -> float:
    """Return the updates that training takes to the target.

    ``S(B, tau) = S_min * (1 + a * tau**p) + S_min * B_noise / B``, with B samples in an update, tau the mean delay, and
    a and p what delay costs.

    Parameters
    ----------
    efficiency : Efficiency
        Of the model, the data set and the target.
    batch : float
        Samples whose gradients one update averages.
    delay : float
        Mean delay of a gradient: updates between the parameters that it was computed with and those that it is applied
        to; zero where training is synchronous.

    Returns
    -------
    float
        Updates; not rounded.

    Raises
    ------
    HetsimError
        If a number is not finite, the batch is not more than zero, another is less than its least value, or the updates
        are too many for a number.

    References
    ----------
    Batch: McCandlish et al. 2018, arXiv:1812.06162, equations 2.11 and 2.12: ``(S / S_min - 1) (E / E_min - 1) = 1``
    with ``E = B S`` and ``B_noise = E_min / S_min``. Delay: an accuracy of epsilon takes asynchronous SGD
    ``O(sigma**2 / epsilon**2 + tau / epsilon)`` updates, with the greatest delay (Stich and Karimireddy 2020,
    arXiv:1909.05350) or, where learning rates adapt to delays, with the mean one (Koloskova, Stich and Jaggi 2022,
    arXiv:2206.08307). That the two noiseless terms, and the two noise terms, are the same is assumed.

    Examples
    --------
    >>> known = Efficiency(min_steps=5000, noise_batch=16000, target="top-1 75 %", source="example", basis="assumed")
    >>> updates_to_target(known, batch=16000, delay=0), updates_to_target(known, batch=1000, delay=15)
    (10000.0, 160000.0)
    """
    _check(efficiency)
    _at_least("batch", batch, 0.0, is_above=True)
    _at_least("delay", delay, 0.0)
    try:
        penalty = efficiency.delay_factor * math.pow(delay, efficiency.delay_exponent)
    except OverflowError:
        penalty = math.inf
    updates = efficiency.min_steps * (1.0 + penalty) + efficiency.min_steps * efficiency.noise_batch / batch
    if not math.isfinite(updates):
        raise HetsimError(f"a delay of {delay!r} and a batch of {batch!r} take more updates than a number can say")
    return updates


def samples_to_target(efficiency: Efficiency, batch: float, delay: float) -> float:
    """Return the samples that training takes to the target: ``B * S(B, tau)``, with S of `updates_to_target`.

    Parameters
    ----------
    efficiency : Efficiency
        Of the model, the data set and the target.
    batch : float
        Samples whose gradients one update averages.
    delay : float
        Mean delay of a gradient, in updates.

    Returns
    -------
    float
        Samples; not rounded. Work that was computed and dropped is not among them.

    Raises
    ------
    HetsimError
        As `updates_to_target`.

    Examples
    --------
    >>> known = Efficiency(min_steps=5000, noise_batch=16000, target="top-1 75 %", source="example", basis="assumed")
    >>> samples_to_target(known, batch=1000, delay=0)
    85000000.0
    """
    return batch * updates_to_target(efficiency, batch, delay)


def local_delay(period: float, n_workers: int) -> float:
    """Return the delay that stands for the local steps between two averages.

    Worker steps of H between two averages count as H updates of the batch of all workers together. The k-th of them,
    from zero, was taken without k steps of the others: a delay of k updates, in the mean over a period ``(H - 1) / 2``.
    One worker alone misses nobody's steps. It adds to the delay that the averages themselves have.

    Parameters
    ----------
    period : float
        Steps of a worker between two averages, in the mean.
    n_workers : int
        That average.

    Returns
    -------
    float
        Updates.

    Raises
    ------
    HetsimError
        If there is less than one step or worker.

    References
    ----------
    Assumed: the bounds for local SGD on data of one distribution have the shape of `updates_to_target` with H in place
    of the delay, and a middle term that grows with H and the noise, which is left out here (Koloskova et al., ICML
    2020, arXiv:2003.10422; Stich and Karimireddy 2020, arXiv:1909.05350).

    Examples
    --------
    >>> local_delay(16, n_workers=8), local_delay(1, n_workers=8), local_delay(16, n_workers=1)
    (7.5, 0.0, 0.0)
    """
    _at_least("period", period, 1.0)
    _at_least("number of workers", n_workers, 1.0)
    return (period - 1.0) / 2.0 if n_workers > 1 else 0.0


def _check(efficiency: Efficiency) -> None:
    _at_least("min_steps", efficiency.min_steps, 0.0, is_above=True)
    _at_least("noise_batch", efficiency.noise_batch, 0.0)
    _at_least("delay_factor", efficiency.delay_factor, 0.0)
    _at_least("delay_exponent", efficiency.delay_exponent, 0.0, is_above=True)


def _at_least(what: str, value: float, least: float, *, is_above: bool = False) -> None:
    if not math.isfinite(value) or value < least or (is_above and value == least):
        raise HetsimError(f"{what} {value!r} must be {'more than' if is_above else 'at least'} {least:g} and finite")
