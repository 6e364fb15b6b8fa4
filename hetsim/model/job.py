"""What is to be trained where, as the scenario asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hetsim.model.aggregation import Group
from hetsim.model.efficiency import Efficiency
from hetsim.model.transport import IDEAL, Transport
from hetsim.model.workload import Dataset, Model, Variable


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A policy by name, with its parameters.

    Parameters
    ----------
    policy : str
        Name, or dotted path.
    parameters : mapping
        Keyword arguments for the policy.
    """

    policy: str
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCompute:
    """Step times that the user knows, instead of a model.

    Parameters
    ----------
    compute_s : tuple of float, shape (n_workers,)
        Seconds per step of each rank on an idle device.
    variables : tuple of Variable
        What is exchanged.
    server_update_s : float
        Seconds a parameter server works, after the last push, before it answers.
    """

    compute_s: tuple[float, ...]
    variables: tuple[Variable, ...]
    server_update_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Workers that do not always finish a step in its time.

    Parameters
    ----------
    probability : tuple of float, shape (n_workers,)
        That a step of each worker is done when its time is over.
    unfinished : {"skip", "repeat"}
        Whether a worker goes on without a gradient, or tries again until it has one.
    """

    probability: tuple[float, ...]
    unfinished: Literal["skip", "repeat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """Gradients that are sent in fewer bytes.

    Parameters
    ----------
    kind : {"top-k", "quantized"}
        The largest entries with their indices, of which only a gather makes a sum; or all entries in fewer bits.
    sent_frac : float
        Bytes sent, as a part of those of the gradient.
    bytes_per_s : float
        Of the gradient that a worker's device compresses or restores in a second; zero if that takes no time.
    """

    kind: Literal["top-k", "quantized"]
    sent_frac: float
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training job.

    Parameters
    ----------
    name : str
        Unique in its scenario.
    workload : Model or KnownCompute
        What a step costs.
    dataset : Dataset or None
        What an epoch is; None where compute times are known.
    batch : int
        Samples of each worker and step.
    n_workers, n_servers : int
        Ranks and parameter servers; no server where the aggregation needs none.
    n_steps : int
        Steps of each worker.
    jitter_cv : float
        Coefficient of variation of the lognormal factor on each step's compute time.
    placement : PolicyChoice
        Who decides where it runs.
    split : {"even", "by-speed", "balanced"}
        Whether all workers have the same batch, each one in proportion to its samples per second, or batches with which
        they end together; the sum of all is ``n_workers * batch`` in any case.
    aggregation : PolicyChoice or Group
        Who decides how gradients are combined, or the tree itself; its servers are numbers of the job's servers, from
        zero, as texts, since their hosts are not known yet.
    transport : Transport
        Of its messages.
    unfairness : float
        Spread of the shares that its connections get where they compete: standard deviation of the logarithm of their
        weights.
    accumulate : int
        Batches whose gradients a worker adds up in a step.
    slots : Slots or None
        Of steps that may take longer than their time.
    compression : Compression or None
        Of gradients on their way.
    convergence : Efficiency or None
        Updates to its target; None where they are not known.
    """

    name: str
    workload: Model | KnownCompute
    dataset: Dataset | None
    batch: int
    n_workers: int
    n_servers: int
    n_steps: int
    jitter_cv: float
    placement: PolicyChoice
    aggregation: PolicyChoice | Group
    split: Literal["even", "by-speed", "balanced"] = "even"
    transport: Transport = IDEAL
    unfairness: float = 0.0
    accumulate: int = 1
    slots: Slots | None = None
    compression: Compression | None = None
    convergence: Efficiency | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Trainable tensors in creation order."""
        return self.workload.variables

    @property
    def gradient_bytes(self) -> int:
        """Bytes of all gradients."""
        return sum(variable.n_bytes for variable in self.variables)
