"""Memory of a worker and of a parameter server, and the memory traffic of an update."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hetsim.errors import HetsimError
from hetsim.model.workload import BYTES_PER_PARAMETER, Model, Variable

CONTEXT_BYTES: Final = 512 * 2**20
"""What a framework takes before the first layer: driver context, libraries, convolution workspaces. An assumption."""

UPDATE_ACCESSES_PER_BYTE: Final = 8
"""Accumulate the last gradient (read gradient and sum, write sum: 3) and update by SGD with momentum (read weight, sum,
momentum, write weight, momentum: 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMemory:
    """What one worker holds at the peak of a step.

    Parameters
    ----------
    parameter_bytes : float
        Trainable parameters.
    gradient_bytes : float
        One gradient for each.
    optimizer_bytes : float
        State of the optimizer.
    activation_bytes : float
        Activations that the whole batch keeps for the backward pass.
    workspace_bytes : float
        `CONTEXT_BYTES`, and the gradients of the input and output of the largest layer for the whole batch.
    """

    parameter_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    activation_bytes: float
    workspace_bytes: float

    @property
    def total_bytes(self) -> float:
        """Sum of all parts."""
        return (
            self.parameter_bytes
            + self.gradient_bytes
            + self.optimizer_bytes
            + self.activation_bytes
            + self.workspace_bytes
        )


def worker_memory(model: Model, batch: int, *, optimizer_slots: int = 1) -> WorkerMemory:
    """Return what one worker holds at the peak of a step, by part.

    Parameters
    ----------
    model : Model
        The network.
    batch : int
        Samples of each step.
    optimizer_slots : int
        Values that the optimizer keeps for each parameter: 0 for SGD, 1 with momentum, 2 for Adam.

    Returns
    -------
    WorkerMemory
        The parts; the largest layer counts twice in the workspace, as the bound of input and output gradient.

    Raises
    ------
    HetsimError
        If the batch is not positive.

    Examples
    --------
    >>> from hetsim.workload.table import build_model
    >>> memory = worker_memory(build_model("resnet50"), 64)
    >>> round(memory.activation_bytes / 2**30, 1), round(memory.total_bytes / 2**30, 1)
    (5.4, 6.6)
    """
    if batch < 1:
        raise HetsimError(f"a step of {model.name} needs at least one sample, not {batch}")
    largest = max((layer.n_outputs for layer in model.layers), default=0)
    return WorkerMemory(
        parameter_bytes=float(model.gradient_bytes),
        gradient_bytes=float(model.gradient_bytes),
        optimizer_bytes=float(optimizer_slots * model.gradient_bytes),
        activation_bytes=float(batch * model.saved_bytes),
        workspace_bytes=float(CONTEXT_BYTES + 2 * batch * largest * BYTES_PER_PARAMETER),
    )


def worker_bytes(model: Model, batch: int, *, optimizer_slots: int = 1) -> float:
    """Return the bytes that one worker holds at the peak of a step: the total of `worker_memory`.

    Parameters
    ----------
    model : Model
        The network.
    batch : int
        Samples of each step.
    optimizer_slots : int
        Values that the optimizer keeps for each parameter.

    Returns
    -------
    float
        Bytes.

    Raises
    ------
    HetsimError
        If the batch is not positive.
    """
    return worker_memory(model, batch, optimizer_slots=optimizer_slots).total_bytes


def server_bytes(variables: Iterable[Variable], n_workers: int, *, optimizer_slots: int = 1) -> float:
    """Return the bytes that parameter servers hold together.

    Parameters
    ----------
    variables : iterable of Variable
        What the servers hold.
    n_workers : int
        Workers that push; each may have one gradient in flight.
    optimizer_slots : int
        Values that the optimizer keeps for each parameter.

    Returns
    -------
    float
        Parameters, optimizer state, one accumulated gradient, and one received gradient for each worker.

    Examples
    --------
    >>> server_bytes([Variable("w", 250)], 4)
    7000.0
    """
    n_bytes = math.fsum(variable.n_bytes for variable in variables)
    return n_bytes * (1 + optimizer_slots + 1 + n_workers)


def update_traffic_bytes(n_bytes: float) -> float:
    """Return the memory traffic of a synchronous parameter server between the last push and its answer.

    The gradients of earlier workers are taken to be accumulated while later ones arrive, so only the last one's
    accumulation is waited for; then comes one update by SGD with momentum: 3 + 5 accesses a byte. An assumption, exact
    only where pushes arrive one after another.

    Parameters
    ----------
    n_bytes : float
        Parameters that the server holds.

    Returns
    -------
    float
        Bytes read and written.

    Examples
    --------
    >>> update_traffic_bytes(1e6)
    8000000.0
    """
    return UPDATE_ACCESSES_PER_BYTE * n_bytes
