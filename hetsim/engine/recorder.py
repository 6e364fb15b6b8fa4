"""What each rank did in each step, in ticks."""

import numpy as np

from hetsim.model.result import IntArray, Trace


class RankRecorder:
    """One rank's column of a `Trace`.

    Parameters
    ----------
    n_steps : int
        Steps.
    """

    def __init__(self, n_steps: int) -> None:
        self.step_end = np.zeros(n_steps, dtype=np.int64)
        self.compute_end = np.zeros(n_steps, dtype=np.int64)
        self.compute = np.zeros(n_steps, dtype=np.int64)
        self.communication = np.zeros(n_steps, dtype=np.int64)
        self._n_transfers = 0
        self._busy_since = 0
        self._busy_step = 0

    def end_step(self, step: int, now: int) -> None:
        """Note the end of a step.

        Parameters
        ----------
        step, now : int
            Which, and when.
        """
        self.step_end[step] = now

    def end_work(self, step: int, start: int, now: int) -> None:
        """Note work, from its request to its end.

        Parameters
        ----------
        step, start, now : int
            Which, and when.
        """
        self.compute[step] += now - start
        self.compute_end[step] = now

    def start_transfer(self, step: int, now: int) -> None:
        """Note that a transfer of this rank sets out.

        Parameters
        ----------
        step, now : int
            Which, and when.
        """
        if self._n_transfers == 0:
            self._busy_since, self._busy_step = now, step
        self._n_transfers += 1

    def end_transfer(self, now: int) -> None:
        """Note that a transfer of this rank arrived.

        Parameters
        ----------
        now : int
            When.
        """
        self._n_transfers -= 1
        if self._n_transfers == 0:
            self.communication[self._busy_step] += now - self._busy_since


def trace_of(recorders: list[RankRecorder]) -> Trace:
    """Return the trace of one job.

    Parameters
    ----------
    recorders : list of RankRecorder, shape (n_ranks,)
        By rank.

    Returns
    -------
    Trace
        Columns by rank.
    """

    def stack(name: str) -> IntArray:
        return np.stack([getattr(recorder, name) for recorder in recorders], axis=1)

    return Trace(
        step_end=stack("step_end"),
        compute_end=stack("compute_end"),
        compute=stack("compute"),
        communication=stack("communication"),
    )
