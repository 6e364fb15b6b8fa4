"""Layers with variables: convolutions, fully connected layers, batch normalisation. Costs: `hetsim.workload.layers`."""

import math

from hetsim.model.workload import Layer, LayerKind, Variable
from hetsim.workload.layers import Shape, make_layer, slide


def _product(
    name: str,
    kind: LayerKind,
    x: Shape,
    out_shape: Shape,
    *,
    macs: int,
    variables: tuple[Variable, ...],
    is_first: bool = False,
    window: int = 1,
) -> Layer:
    """Return a convolution or linear layer."""
    n_in, n_out = math.prod(x), math.prod(out_shape)
    gradients = 1 if is_first else 2
    return make_layer(
        name,
        kind,
        out_shape,
        flop=(2 * macs, 2 * macs * gradients),
        moves=(n_in + n_out, gradients * (n_in + n_out)),
        kept=n_out + (n_in if is_first else 0),
        variables=variables,
        macs=macs,
        window=window,
    )


def conv(
    name: str,
    x: Shape,
    channels: int,
    *,
    kernel: int | tuple[int, int] = 3,
    stride: int = 1,
    padding: int | tuple[int, int] | None = None,
    bias: bool = False,
    is_first: bool = False,
) -> Layer:
    """Return a convolution.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Channels, height, width of the input.
    channels : int
        Outputs.
    kernel : int or (int, int)
        Height and width of the window.
    stride : int
        Step of the window.
    padding : int, (int, int) or None
        Pixels added on each side; None for half the window, which is TensorFlow's ``same`` for odd windows.
    bias : bool
        Whether each channel has one.
    is_first : bool
        Whether the input is that of the network.

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
    >>> layer = conv("conv1", (3, 224, 224), 64, kernel=7, stride=2)
    >>> layer.out_shape, layer.macs
    ((64, 112, 112), 118013952)
    """
    window = (kernel, kernel) if isinstance(kernel, int) else kernel
    out_shape = (channels, *slide(name, x, window, stride, padding))
    n_kernel = channels * x[0] * window[0] * window[1]
    variables: tuple[Variable, ...] = (Variable(f"{name}/kernel", n_kernel),)
    if bias:
        variables += (Variable(f"{name}/bias", channels),)
    macs = n_kernel * out_shape[1] * out_shape[2]
    n_window = window[0] * window[1]
    return _product(name, "conv", x, out_shape, macs=macs, variables=variables, is_first=is_first, window=n_window)


def depthwise_conv(name: str, x: Shape, *, kernel: int = 3, stride: int = 1) -> Layer:
    """Return a convolution with one filter for each channel, padded by half the window, without bias.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Channels, height, width of the input.
    kernel : int
        Height and width of the window.
    stride : int
        Step of the window.

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
    >>> depthwise_conv("dw", (32, 112, 112)).macs
    3612672
    """
    out_shape = (x[0], *slide(name, x, (kernel, kernel), stride, None))
    n_kernel = x[0] * kernel * kernel
    macs = n_kernel * out_shape[1] * out_shape[2]
    variables = (Variable(f"{name}/kernel", n_kernel),)
    return _product(name, "depthwise-conv", x, out_shape, macs=macs, variables=variables, window=kernel * kernel)


def linear(name: str, x: Shape, features: int) -> Layer:
    """Return a fully connected layer with bias; the input is flattened.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of the input.
    features : int
        Outputs.

    Returns
    -------
    Layer
        The layer.

    Examples
    --------
    >>> linear("fc", (512, 1, 1), 1000).n_params
    513000
    """
    n_kernel = math.prod(x) * features
    variables = (Variable(f"{name}/kernel", n_kernel), Variable(f"{name}/bias", features))
    return _product(name, "linear", x, (features,), macs=n_kernel, variables=variables)


def batch_norm(name: str, x: Shape, *, scale: bool = True) -> Layer:
    """Return a batch normalisation.

    Parameters
    ----------
    name : str
        Unique within its model.
    x : Shape
        Of the input.
    scale : bool
        Whether gamma is trained beside beta. Running statistics are not trained, so they are no variables here.

    Returns
    -------
    Layer
        The layer.

    Examples
    --------
    >>> [variable.name for variable in batch_norm("bn", (64, 56, 56)).variables]
    ['bn/gamma', 'bn/beta']
    """
    n = math.prod(x)
    names = ("gamma", "beta") if scale else ("beta",)
    variables = tuple(Variable(f"{name}/{part}", x[0]) for part in names)
    forward = 7 if scale else 6
    flop, moves = (forward * n, 9 * n), (3 * n, 5 * n)
    return make_layer(name, "batch-norm", x, flop=flop, moves=moves, kept=n, variables=variables)
