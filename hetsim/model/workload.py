"""What is trained: variables, layers, models, data sets."""

import math
from dataclasses import dataclass
from typing import Literal

BYTES_PER_PARAMETER = 4
"""Parameters, gradients and activations are fp32."""

LayerKind = Literal[
    "conv", "depthwise-conv", "batch-norm", "activation", "pool", "linear", "add", "concat", "scale", "dropout"
]


@dataclass(frozen=True, slots=True)
class Variable:
    """One trainable tensor, in creation order within its model.

    Parameters
    ----------
    name : str
        Such as ``conv1/kernel``.
    n_params : int
        Elements.
    bytes_per_param : int
        Of its value, and of its gradient; one where only an amount of bytes is known.
    """

    name: str
    n_params: int
    bytes_per_param: int = BYTES_PER_PARAMETER

    @property
    def n_bytes(self) -> int:
        """Bytes of its value, and of its gradient."""
        return self.n_params * self.bytes_per_param


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One operation of a network, for one sample.

    Parameters
    ----------
    name : str
        Unique within its model.
    kind : str
        One of `LayerKind`.
    variables : tuple of Variable
        Trainable tensors, in creation order.
    out_shape : tuple of int
        Channels, height, width; or features.
    macs : int
        Multiply-accumulates of the forward pass of convolutions and linear layers; zero elsewhere.
    forward_flop, backward_flop : float
        Floating-point operations of each pass.
    forward_bytes, backward_bytes : float
        Device memory traffic of each pass: activations read and written, without the parameters.
    saved_bytes : int
        Activations kept for the backward pass.
    window : int
        Elements of a convolution's window, such as 9; one elsewhere.
    """

    name: str
    kind: LayerKind
    variables: tuple[Variable, ...]
    out_shape: tuple[int, ...]
    macs: int
    forward_flop: float
    backward_flop: float
    forward_bytes: float
    backward_bytes: float
    saved_bytes: int
    window: int = 1

    @property
    def n_params(self) -> int:
        """Trainable elements."""
        return sum(variable.n_params for variable in self.variables)

    @property
    def gradient_bytes(self) -> int:
        """Bytes of the gradients."""
        return self.n_params * BYTES_PER_PARAMETER

    @property
    def n_outputs(self) -> int:
        """Elements of the output."""
        return math.prod(self.out_shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A network as a list of layers.

    Parameters
    ----------
    name : str
        Such as ``resnet50``.
    input_shape : tuple of int
        Channels, height, width.
    n_classes : int
        Outputs.
    layers : tuple of Layer
        In forward order.
    """

    name: str
    input_shape: tuple[int, int, int]
    n_classes: int
    layers: tuple[Layer, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Trainable tensors in creation order."""
        return tuple(variable for layer in self.layers for variable in layer.variables)

    @property
    def n_params(self) -> int:
        """Trainable elements."""
        return sum(layer.n_params for layer in self.layers)

    @property
    def gradient_bytes(self) -> int:
        """Bytes of all gradients."""
        return self.n_params * BYTES_PER_PARAMETER

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one sample's forward pass."""
        return sum(layer.macs for layer in self.layers)

    @property
    def saved_bytes(self) -> int:
        """Activations of one sample kept for the backward pass."""
        return sum(layer.saved_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A labelled set of images.

    Parameters
    ----------
    name : str
        Such as ``imagenet``.
    n_samples : int
        Training samples.
    input_shape : tuple of int
        Channels, height, width after preprocessing.
    n_classes : int
        Labels.
    source : str
        Where the figures come from.
    """

    name: str
    n_samples: int
    input_shape: tuple[int, int, int]
    n_classes: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeProfile:
    """Measured step time ``a + b * batch`` of one model on one device.

    Parameters
    ----------
    model, device : str
        Catalog names.
    forward_base_s, forward_per_sample_s, backward_base_s, backward_per_sample_s : float
        Coefficients; backward includes the optimizer.
    min_batch, max_batch : int
        The range that was measured.
    input_pixels : int
        Height and width of the measured input.
    source : str
        The measurements.
    """

    model: str
    device: str
    forward_base_s: float
    forward_per_sample_s: float
    backward_base_s: float
    backward_per_sample_s: float
    min_batch: int
    max_batch: int
    input_pixels: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Time of one training step on one idle device, and how it is known.

    Parameters
    ----------
    forward_s, backward_s : float
        Seconds; backward includes the optimizer.
    basis : {"measured", "derived", "assumed"}
        Measured: a profile inside its range. Derived: a profile outside its range. Assumed: roofline.
    method : str
        One line for people: the profile and its range, or the roofline and its efficiency.
    source : str
        Where the constants come from.
    batch : int or None
        Samples of the step; None where it is that of the job.
    """

    forward_s: float
    backward_s: float
    basis: Literal["measured", "derived", "assumed"]
    method: str
    source: str
    batch: int | None = None

    @property
    def total_s(self) -> float:
        """Seconds of the whole step."""
        return self.forward_s + self.backward_s
