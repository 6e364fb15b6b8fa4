"""What each rank did in each step, in ticks."""

from collections.abc import Sequence

import numpy as np

from hetsim.model.result import IntArray, Trace


class RankRecorder:
    """One rank's column of a `Trace`; lists, which Python fills faster than arrays.

    Parameters
    ----------
    n_steps : int
        Steps.
    """

    __slots__ = ("communication", "compute", "compute_end", "step_end")

    def __init__(self, n_steps: int) -> None:
        self.step_end = [0] * n_steps
        self.compute_end = [0] * n_steps
        self.compute = [0] * n_steps
        self.communication = [0] * n_steps

    def end_step(self, step: int, now: int) -> None:
        """Note the end of a step.

        Parameters
        ----------
        step, now : int
            Which, and when.
        """
        self.step_end[step] = now

    def add_step(self) -> None:
        """Note that a step begins of which it was not known that there would be one."""
        self.step_end.append(-1)
        self.compute_end.append(0)
        self.compute.append(0)
        self.communication.append(0)

    def end_work(self, step: int, start: int, now: int) -> None:
        """Note work, from its request to its end.

        Parameters
        ----------
        step, start, now : int
            Which, and when.
        """
        self.compute[step] += now - start
        self.compute_end[step] = now


class TransferRecorder:
    """The transfers of one program: the time in which any is under way counts for the step in which the first set out.

    Parameters
    ----------
    ranks : sequence of RankRecorder
        For whom it counts.
    """

    __slots__ = ("_busy_since", "_busy_step", "_n_transfers", "_ranks")

    def __init__(self, ranks: Sequence[RankRecorder]) -> None:
        self._ranks = ranks
        self._n_transfers = 0
        self._busy_since = 0
        self._busy_step = 0

    def start(self, step: int, now: int) -> None:
        """Note that a transfer sets out.

        Parameters
        ----------
        step, now : int
            Which, and when.
        """
        if self._n_transfers == 0:
            self._busy_since, self._busy_step = now, step
        self._n_transfers += 1

    def end(self, now: int) -> None:
        """Note that a transfer arrived.

        Parameters
        ----------
        now : int
            When.
        """
        self._n_transfers -= 1
        if self._n_transfers == 0:
            for rank in self._ranks:
                rank.communication[self._busy_step] += now - self._busy_since


def trace_of(recorders: list[RankRecorder], updates: Sequence[int]) -> Trace:
    """Return the trace of one job.

    Parameters
    ----------
    recorders : list of RankRecorder, shape (n_ranks,)
        By rank.
    updates : sequence of int
        Ticks of the updates that are not ends of steps.

    Returns
    -------
    Trace
        Columns by rank.
    """
    n_steps = max(len(recorder.step_end) for recorder in recorders)

    def stack(name: str, missing: int = 0) -> IntArray:
        rows = [getattr(recorder, name) for recorder in recorders]
        return np.array([[*row, *[missing] * (n_steps - len(row))] for row in rows], dtype=np.int64).T.copy()

    return Trace(
        step_end=stack("step_end", -1),
        compute_end=stack("compute_end"),
        compute=stack("compute"),
        communication=stack("communication"),
        updates=np.array(updates, dtype=np.int64),
    )
