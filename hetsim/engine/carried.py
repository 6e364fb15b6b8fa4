"""What each resource moved, from what each instruction did."""

import numpy as np

from hetsim.model.instructions import Flow, usage_of
from hetsim.model.plan import Plan
from hetsim.model.result import FloatArray, IntArray


class Carried:
    """Amounts that the resources of a plan have moved.

    Not counted while a plan runs but from whole numbers afterwards, so that no order of events can show in a sum. Of
    programs in the background transfers count, when they have ended, and work does not.

    Parameters
    ----------
    plan : Plan
        What is run.
    """

    def __init__(self, plan: Plan) -> None:
        uses = []
        instructions = [(program, instruction) for program in plan.programs for instruction in program.body]
        for index, (program, instruction) in enumerate(instructions):
            if program.is_background and not isinstance(instruction, Flow):
                continue  # the run may end in the middle of it
            amount = instruction.n_bytes if isinstance(instruction, Flow) else 1.0
            uses += [(index, resource, use * amount) for resource, use in usage_of(instruction)]
        self._n_resources = len(plan.resources)
        self._instruction = np.array([index for index, _, _ in uses], dtype=np.int64)
        self._resource = np.array([resource for _, resource, _ in uses], dtype=np.int64)
        self._amount = np.array([amount for _, _, amount in uses], dtype=np.float64)

    def amounts(self, done: IntArray) -> FloatArray:
        """Return how much each resource has moved.

        Parameters
        ----------
        done : IntArray, shape (n_instructions,)
            Flows of each instruction that ended, or ticks of work done; in the order of the programs.

        Returns
        -------
        FloatArray, shape (n_resources,)
            Bytes, or device ticks.
        """
        amounts = self._amount * done[self._instruction]
        return np.bincount(self._resource, weights=amounts, minlength=self._n_resources).astype(np.float64)
