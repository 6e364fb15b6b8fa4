"""Layers without variables: activations, pooling, sums, joins. Costs: `hetsim.workload.layers`."""

import math
from typing import Final, Literal

from hetsim.model.workload import Layer
from hetsim.workload.layers import Activation, Shape, make_layer, slide

_ACTIVATION_FLOP: Final[dict[Activation, int]] = {"relu": 1, "relu6": 2, "hard-sigmoid": 4, "hard-swish": 5}
_IN_PLACE: Final = ("relu", "relu6")


def activation(name: str, x: Shape, function: Activation = "relu") -> Layer:
    """Return an activation.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of the input.
    function : {"relu", "relu6", "hard-swish", "hard-sigmoid"}
        Which.

    Returns
    -------
    Layer
        The layer.
    """
    n = math.prod(x)
    flop = _ACTIVATION_FLOP[function] * n
    kept = 0 if function in _IN_PLACE else n
    return make_layer(name, "activation", x, flop=(flop, flop), moves=(2 * n, 3 * n), kept=kept)


def pool(
    name: str, x: Shape, *, kernel: int, stride: int, padding: int = 0, mode: Literal["max", "average"] = "max"
) -> Layer:
    """Return a pooling over windows.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Channels, height, width of the input.
    kernel, stride, padding : int
        The window, its step, pixels added on each side.
    mode : {"max", "average"}
        What is taken of each window.

    Returns
    -------
    Layer
        The layer.

    Raises
    ------
    HetsimError
        If the window does not fit.

    Examples
    --------
    >>> pool("pool1", (64, 112, 112), kernel=3, stride=2, padding=1).out_shape
    (64, 56, 56)
    """
    out_shape = (x[0], *slide(name, x, (kernel, kernel), stride, padding))
    n_in, n_out = math.prod(x), math.prod(out_shape)
    moved = n_in + n_out
    backward = 2 * moved if mode == "max" else moved
    return make_layer(
        name, "pool", out_shape, flop=(kernel * kernel * n_out, n_in), moves=(moved, backward), kept=n_out
    )


def adaptive_pool(name: str, x: Shape, size: int = 1) -> Layer:
    """Return an average pooling to a fixed size, as PyTorch's: where the input is smaller, pixels repeat.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Channels, height, width of the input.
    size : int
        Height and width of the output; one for a global pooling.

    Returns
    -------
    Layer
        The layer.
    """
    out_shape = (x[0], size, size)
    n_in, n_out = math.prod(x), math.prod(out_shape)
    moved = n_in + n_out
    return make_layer(name, "pool", out_shape, flop=(max(n_in, n_out), n_in), moves=(moved, moved), kept=n_out)


def add(name: str, x: Shape) -> Layer:
    """Return the sum of two tensors of one shape, in place.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of both inputs.

    Returns
    -------
    Layer
        The layer.
    """
    n = math.prod(x)
    return make_layer(name, "add", x, flop=(n, n), moves=(3 * n, 3 * n), kept=0)


def concat(name: str, branches: tuple[Shape, ...], source: Shape) -> Layer:
    """Return the concatenation of branches along the channels.

    Parameters
    ----------
    name : str
        Unique within its model.
    branches : tuple of Shape
        Of each input; heights and widths are equal.
    source : Shape
        Of the tensor that all branches read.

    Returns
    -------
    Layer
        The layer.

    Examples
    --------
    >>> concat("join", ((64, 35, 35), (32, 35, 35)), (192, 35, 35)).out_shape
    (96, 35, 35)
    """
    out_shape = (sum(branch[0] for branch in branches), *branches[0][1:])
    n, n_source, b = math.prod(out_shape), math.prod(source), len(branches)
    moves = (2 * n, 2 * n + (b + 1) * n_source)
    return make_layer(name, "concat", out_shape, flop=(0, (b - 1) * n_source), moves=moves, kept=n)


def scale(name: str, x: Shape) -> Layer:
    """Return the product of a tensor and one factor for each channel (squeeze and excitation).

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of the tensor.

    Returns
    -------
    Layer
        The layer.
    """
    n = math.prod(x)
    return make_layer(name, "scale", x, flop=(n, 3 * n), moves=(2 * n, 3 * n), kept=n)


def dropout(name: str, x: Shape) -> Layer:
    """Return a dropout.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of the input.

    Returns
    -------
    Layer
        The layer.
    """
    n = math.prod(x)
    return make_layer(name, "dropout", x, flop=(n, n), moves=(2 * n, 2 * n), kept=n, mask_bytes=n)
