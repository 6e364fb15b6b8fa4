"""What a benchmark gives, and how two things are timed side by side."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the output: medians in seconds, and how many times faster than its peer ours is."""

    ours_s: float | None
    peer_s: float | None
    unit: str
    note: str

    def to_dict(self) -> dict[str, object]:
        ratio = self.peer_s / self.ours_s if self.ours_s and self.peer_s else None
        return {"ours_s": self.ours_s, "peer_s": self.peer_s, "ratio": ratio, "unit": self.unit, "note": self.note}


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(*calls: Callable[[], float], n_repetitions: int, n_warm: int = 1) -> tuple[float, ...]:
    """Return the medians of measurements taken in turn, so that what else the machine does falls on all."""
    samples = [[call() for call in calls] for _ in range(n_warm + n_repetitions)][n_warm:]
    return tuple(statistics.median(column) for column in zip(*samples, strict=True))
