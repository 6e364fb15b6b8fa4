"""What each kind of layer costs for one sample; `weighted` and `weightless` make the layers.

The costs follow from the shapes by these rules. Let ``x`` and ``y`` be the elements of input and output, ``w`` the
multiply-accumulates, ``k`` the elements of a window. A depthwise convolution follows the rules of a convolution.

===============  ==================  ====================  ==============  ===================  ================
kind             forward FLOP        backward FLOP         forward moves   backward moves       keeps
===============  ==================  ====================  ==============  ===================  ================
conv, linear     2 w                 4 w                   x + y           2 x + 2 y            y
batch-norm       7 y                 9 y                   3 y             5 y                  y
activation       c y                 c y                   2 y             3 y                  0, or y
pool (max)       k y                 x                     x + y           2 x + 2 y            y
pool (average)   k y                 x                     x + y           x + y                y
add              y                   y                     3 y             3 y                  0
concat           0                   (b - 1) s             2 y             2 y + (b + 1) s      y
scale            y                   3 y                   2 y             3 y                  y
dropout          y                   y                     2 y + mask      2 y + mask           y + mask
===============  ==================  ====================  ==============  ===================  ================

* A convolution's or linear layer's backward pass is two products of the size of the forward one: the gradient of the
  input and that of the weights. The first layer of a network needs no gradient of its input: half the FLOP, x + y
  moved; it keeps the network's input as well. Adding a bias is not counted.
* Batch-norm reads its input twice forward (statistics, then 2 to normalise and 2 for scale and shift) and input and
  output gradient twice backward; without scale it saves one FLOP forward.
* An activation costs c = 1 (relu), 2 (relu6), 4 (hard-sigmoid) or 5 (hard-swish) FLOP an element. Relu and relu6 work
  in place, on a tensor that its producer has counted; the other two keep their output too.
* The backward pass of an addition sums the two gradients that meet where the branches part; that of a concatenation of
  b branches likewise, where s is the elements of the tensor from which the branches part.
* Moves are fp32 elements of device memory, parameters not included. A dropout mask is one byte an element.
* Keeps are the tensors that stay for the backward pass; each is counted once, where it is made, since what a layer
  keeps is its input, which an earlier layer made.

The product counts are those of Goodfellow, Bengio and Courville, "Deep Learning" (MIT Press, 2016), sections 6.5 and
9.5; the rest counts the operations of the textbook formulas (batch-norm: Ioffe and Szegedy, arXiv:1502.03167).
"""

from typing import Literal

from hetsim.errors import HetsimError
from hetsim.model.workload import BYTES_PER_PARAMETER, Layer, LayerKind, Variable

Shape = tuple[int, ...]
"""Channels, height, width; or features."""

Activation = Literal["relu", "relu6", "hard-swish", "hard-sigmoid"]


def make_layer(
    name: str,
    kind: LayerKind,
    out_shape: Shape,
    *,
    flop: tuple[float, float],
    moves: tuple[float, float],
    kept: int,
    variables: tuple[Variable, ...] = (),
    macs: int = 0,
    window: int = 1,
    mask_bytes: int = 0,
) -> Layer:
    """Return a layer from counts of FLOP and elements.

    Parameters
    ----------
    name, kind, out_shape, variables, macs, window
        As in `Layer`.
    flop : (float, float)
        Forward and backward.
    moves : (float, float)
        Elements read and written, forward and backward.
    kept : int
        Elements kept for the backward pass.
    mask_bytes : int
        Moved by each pass and kept besides.

    Returns
    -------
    Layer
        The layer.
    """
    return Layer(
        name=name,
        kind=kind,
        variables=variables,
        out_shape=out_shape,
        macs=macs,
        forward_flop=float(flop[0]),
        backward_flop=float(flop[1]),
        forward_bytes=float(moves[0] * BYTES_PER_PARAMETER + mask_bytes),
        backward_bytes=float(moves[1] * BYTES_PER_PARAMETER + mask_bytes),
        saved_bytes=kept * BYTES_PER_PARAMETER + mask_bytes,
        window=window,
    )


def _window(name: str, size: int, kernel: int, stride: int, padding: int) -> int:
    """Return the outputs along one side."""
    if size + 2 * padding < kernel:
        raise HetsimError(f"layer {name!r} has a window of {kernel} pixels, but only {size} + {2 * padding} are left")
    return (size + 2 * padding - kernel) // stride + 1


def slide(
    name: str, x: Shape, kernel: tuple[int, int], stride: int, padding: int | tuple[int, int] | None
) -> tuple[int, int]:
    """Return height and width of the output of a sliding window.

    Parameters
    ----------
    name : str
        Of the layer, for the message.
    x : Shape
        Channels, height, width of the input.
    kernel : (int, int)
        Height and width of the window.
    stride : int
        Its step.
    padding : int, (int, int) or None
        Pixels added on each side; None for half the window.

    Returns
    -------
    (int, int)
        Height and width.

    Raises
    ------
    HetsimError
        If the window does not fit.
    """
    if padding is None:
        padding = ((kernel[0] - 1) // 2, (kernel[1] - 1) // 2)
    rows, columns = (padding, padding) if isinstance(padding, int) else padding
    return (
        _window(name, x[1], kernel[0], stride, rows),
        _window(name, x[2], kernel[1], stride, columns),
    )
