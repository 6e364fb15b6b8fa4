"""Recurrences in which all programs meet once in each iteration, as in bulk-synchronous training.

Let S_i be the first tick of iteration i that all works, and the way from each of them, lead to. Each program p begins
its next iteration at ``S_i + k_p``, rank p its work at ``S_i + k_p + a_p`` for a drawn time d_p, and

    S_(i+1) = S_i + max_p (k_p + g_p + d_p)

with constants k, a and g (in the first iteration k is zero). Such a part of a plan needs a maximum over the draws of
each step, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hetsim.model.instructions import Flow, Wait, Work
from hetsim.model.plan import Plan
from hetsim.plan.recurrence import Action, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Synchronised:
    """The constants of one part; ticks.

    Parameters
    ----------
    ranks : tuple of int, shape (n_ranks,)
        Programs that work once in each iteration, in order.
    works : tuple of Action, shape (n_ranks,)
        Their work.
    lead : tuple of int, shape (n_ranks,)
        From the start of each rank to its work.
    follow : tuple of int, shape (n_ranks,)
        From the start of each rank to the meeting, its work left out.
    start : tuple of int, shape (n_ranks,)
        From the meeting to the start of the next iteration of each rank.
    communication : tuple of int, shape (n_ranks,)
        With own transfers under way, in each iteration.
    """

    ranks: tuple[int, ...]
    works: tuple[Action, ...]
    lead: tuple[int, ...]
    follow: tuple[int, ...]
    start: tuple[int, ...]
    communication: tuple[int, ...]


_Source = tuple[int, bool]
"""A program, and whether its work is part of the way from its start."""

_Time = dict[_Source, int]
"""A time before the meeting: the latest of some ways, each from the start of a program; or, with the only key `_MET`,
ticks after the meeting."""

_MET: _Source = (-1, False)
_MOST_TERMS = 16
"""Where times have more terms than this for each action on average, the programs do not meet in few places."""


class _NotSynchronisedError(Exception):
    """The part does not have this form."""


def find_synchronised(plan: Plan, part: Part) -> Synchronised | None:
    """Return the constants of a part, if it has this form.

    Parameters
    ----------
    plan : Plan
        All.
    part : Part
        Of its recurrence.

    Returns
    -------
    Synchronised or None
        None where it has not.
    """
    ranks = [program for program in part.programs if plan.programs[program].rank >= 0]
    works: dict[int, list[Action]] = {program: [] for program in ranks}
    for action in part.actions:
        if isinstance(action.instruction, Work):
            if action.program in works:
                works[action.program].append(action)
            elif action.instruction.jitter_cv > 0.0:
                return None
    if not ranks or any(len(each) != 1 for each in works.values()):
        return None
    try:
        return _Walk(plan, part, ranks, {program: each[0] for program, each in works.items()}).result()
    except _NotSynchronisedError:
        return None


class _Walk:
    """One iteration, with times as sums and maxima of what is not known yet."""

    def __init__(self, plan: Plan, part: Part, ranks: list[int], works: Mapping[int, Action]) -> None:
        self.part = part
        rank_of = {(plan.programs[program].job, plan.programs[program].rank): program for program in ranks}
        self.senders = {
            program: [rank_of[plan.programs[program].job, rank] for rank in plan.programs[program].senders]
            for program in part.programs
        }
        self.ranks = ranks
        self.works = works
        self.now: dict[int, _Time] = {program: {(program, False): 0} for program in part.programs}
        self.rises: dict[int, _Time] = {}
        self.meeting: _Time | None = None
        self.lead: dict[int, int] = {}
        self.busy_until: dict[int, _Time] = {}
        self.communication = dict.fromkeys(ranks, 0)
        self.before_meeting: list[tuple[int, int]] = []
        self.n_terms = 0

    def result(self) -> Synchronised:
        for action in self.part.actions:
            self._do(action)
        start = {program: self._start(program) for program in self.part.programs}
        for program, end in self.busy_until.items():
            self._check_not_after(end, self.now[program])
        meeting = self.meeting or {}
        least = max(ticks + start[program] for (program, _), ticks in meeting.items())
        for program, ticks in self.before_meeting:
            if ticks > max(meeting.values()) or start[program] + ticks > least:
                raise _NotSynchronisedError
        return Synchronised(
            ranks=tuple(self.ranks),
            works=tuple(self.works[rank] for rank in self.ranks),
            lead=tuple(self.lead[rank] for rank in self.ranks),
            follow=tuple(meeting[rank, True] for rank in self.ranks),
            start=tuple(start[rank] for rank in self.ranks),
            communication=tuple(self.communication[rank] for rank in self.ranks),
        )

    def _do(self, action: Action) -> None:
        program, instruction = action.program, action.instruction
        end = self.now[program]
        if isinstance(instruction, Wait):
            end = self.now[program] = self._latest(end, self.rises[action.awaited])
        elif isinstance(instruction, Work) and program in self.works:
            end = self.now[program] = self._worked(program, end)
        elif isinstance(instruction, Flow):
            end = self._plus(end, action.ticks)
            if self.senders[program] and action.ticks:
                self._check_not_after(self.busy_until.get(program, {}), self.now[program])
                self.busy_until[program] = end
                for rank in self.senders[program]:
                    self.communication[rank] += action.ticks
        else:
            end = self.now[program] = self._plus(end, action.ticks)
        for slot, before in action.raised:
            self._raise(slot, before, end)
        if isinstance(instruction, Wait | Work):
            self.now[program] = self._from_meeting(self.now[program])

    def _from_meeting(self, time: _Time) -> _Time:
        """Return a time that is as late as the meeting, or always as much later, as ticks after it.

        The meeting is the first time that all works are part of. What else is part of it must not be later than they
        are, which shows only at the end.
        """
        if _MET in time or any((rank, True) not in time for rank in self.ranks):
            return time
        self._count(time)
        if self.meeting is None:
            self.meeting = {(rank, True): time[rank, True] for rank in self.ranks}
        later = {time[source] - at for source, at in self.meeting.items()}
        if len(later) > 1 or min(later) < 0:
            return time
        after = later.pop()
        self.before_meeting += [(program, at - after) for (program, is_worked), at in time.items() if not is_worked]
        return {_MET: after}

    def _raise(self, slot: int, before: int, time: _Time) -> None:
        """Note a rise; those of one slot gather in a dictionary of its own, as copying it for each takes too long."""
        if before not in self.rises:
            self.rises[slot] = dict(time)
        elif slot != before or _MET in time or _MET in self.rises[slot]:
            self.rises[slot] = dict(self._latest(time, self.rises[before]))
        else:
            self._count(time)
            gathered = self.rises[slot]
            for source, at in time.items():
                gathered[source] = max(gathered.get(source, 0), at)

    def _worked(self, program: int, time: _Time) -> _Time:
        if set(time) != {(program, False)}:
            raise _NotSynchronisedError
        self.lead[program] = time[program, False]
        return {(program, True): time[program, False]}

    def _plus(self, time: _Time, ticks: int) -> _Time:
        self._count(time)
        return {source: at + ticks for source, at in time.items()} if ticks else time

    def _latest(self, time: _Time, other: _Time) -> _Time:
        if _MET in time or _MET in other:
            after, before = (time, other) if _MET in time else (other, time)
            if _MET in before:
                return {_MET: max(time[_MET], other[_MET])}
            self._check_not_after(before, after)
            return after
        more, fewer = (time, other) if len(time) > len(other) else (other, time)
        self._count(fewer)
        if any(more.get(source, -1) < at for source, at in fewer.items()):
            more = dict(more)
            self._count(more)
            for source, at in fewer.items():
                more[source] = max(more.get(source, 0), at)
        return more

    def _count(self, time: _Time) -> None:
        self.n_terms += len(time)
        if self.n_terms > _MOST_TERMS * len(self.part.actions):
            raise _NotSynchronisedError

    def _check_not_after(self, time: _Time, other: _Time) -> None:
        """Refuse a part in which a time may be after another one."""
        is_met = _MET in other and _MET not in time
        least = (self.meeting or {}) if is_met else other
        for (program, is_worked), ticks in time.items():
            if _MET in time:
                at = other.get(_MET, -1)
            else:
                at = max(least.get((program, True), -1), -1 if is_worked else least.get((program, False), -1))
            if at < ticks and is_met and not is_worked:
                self.before_meeting.append((program, ticks))
            elif at < ticks:
                raise _NotSynchronisedError

    def _start(self, program: int) -> int:
        """Return the ticks from the meeting to the next iteration of a program, or to a tick not before that."""
        end = self.now[program]
        if _MET in end:
            return end[_MET]
        if program in self.works:
            raise _NotSynchronisedError
        self._check_not_after(end, {_MET: 0})
        return 0
