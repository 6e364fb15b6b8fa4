"""How a long message is cut so that actors along a pipeline work at the same time."""

import math
from typing import Final

PIECE_BYTES: Final = 4 * 2**20 / 8
"""NCCL cuts what goes along a tree or chain into slots of its buffer: 4 MiB (``DEFAULT_BUFFSIZE``, src/init.cc) in 8
steps (``NCCL_STEPS``, src/include/device.h); version 2.28."""

MAX_PIECES: Final = 64
"""Longer messages are cut into so many pieces; filling a pipeline of d stages then takes d/64 of the time, not less."""


def n_pieces(n_bytes: float) -> int:
    """Return into how many equal pieces a message is cut.

    Parameters
    ----------
    n_bytes : float
        Payload.

    Returns
    -------
    int
        One at least.

    Examples
    --------
    >>> n_pieces(4.0), n_pieces(2.0**21), n_pieces(1e9)
    (1, 4, 64)
    """
    return max(1, min(MAX_PIECES, math.ceil(n_bytes / PIECE_BYTES)))
