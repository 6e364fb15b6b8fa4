"""How many updates training needs to reach a target, as a function of what an update is made of."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Statistical efficiency of one model on one data set, to one target.

    Parameters
    ----------
    min_steps : float
        Updates to the target that no batch goes below, without delay.
    noise_batch : float
        Samples in an update at which its noise is as large as its signal: with that batch the target takes twice
        `min_steps`. The critical batch size of McCandlish et al. 2018, arXiv:1812.06162, equation 2.12.
    delay_factor : float
        How much longer the noiseless part takes for a delay of one update: 1 doubles it, 0 makes delay cost nothing.
    delay_exponent : float
        Power of the delay, in updates, that this grows with.
    target : str
        What is reached, such as ``top-1 75 %``.
    source : str
        Where `min_steps` and `noise_batch` come from.
    basis : {"measured", "derived", "assumed"}
        Of `min_steps` and `noise_batch`. Measured: fitted to runs with batches like the job's. Derived: to runs with
        smaller or larger ones. Assumed: stated. What delay costs is always assumed.
    method : str
        How `min_steps` and `noise_batch` were arrived at, for people.
    """

    min_steps: float
    noise_batch: float
    delay_factor: float = 1.0
    delay_exponent: float = 1.0
    target: str
    source: str
    basis: Literal["measured", "derived", "assumed"]
    method: str = ""
