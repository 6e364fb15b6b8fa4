"""A network under construction: layers in forward order, with unique names."""

from hetsim.model.workload import Layer
from hetsim.workload.layers import Activation, Shape
from hetsim.workload.weighted import batch_norm, conv, depthwise_conv
from hetsim.workload.weightless import activation


class Network:
    """Collects layers in forward order.

    Examples
    --------
    >>> network = Network()
    >>> x = network.conv_block("stem", (3, 32, 32), 16, is_first=True)
    >>> x, [layer.name for layer in network.layers]
    ((16, 32, 32), ['stem/conv', 'stem/bn', 'stem/relu'])
    """

    def __init__(self) -> None:
        self._layers: dict[str, Layer] = {}

    @property
    def layers(self) -> tuple[Layer, ...]:
        """What was put, in order."""
        return tuple(self._layers.values())

    def put(self, layer: Layer) -> Shape:
        """Append a layer.

        Parameters
        ----------
        layer : Layer
            With a name that is new here.

        Returns
        -------
        Shape
            Of its output.
        """
        assert layer.name not in self._layers, f"two layers are called {layer.name!r}"
        self._layers[layer.name] = layer
        return layer.out_shape

    def conv_block(
        self,
        name: str,
        x: Shape,
        channels: int,
        *,
        kernel: int | tuple[int, int] = 3,
        stride: int = 1,
        padding: int | tuple[int, int] | None = None,
        function: Activation | None = "relu",
        scale: bool = True,
        is_first: bool = False,
    ) -> Shape:
        """Append a convolution without bias, a batch-norm and an activation.

        Parameters
        ----------
        name : str
            Prefix of their names.
        x : Shape
            Of the input.
        channels : int
            Outputs.
        kernel, stride, padding, is_first
            As for `hetsim.workload.weighted.conv`.
        function : Activation or None
            None for no activation.
        scale : bool
            Whether the batch-norm trains gamma.

        Returns
        -------
        Shape
            Of the output.
        """
        convolution = conv(
            f"{name}/conv", x, channels, kernel=kernel, stride=stride, padding=padding, is_first=is_first
        )
        return self._normalise(name, self.put(convolution), function, scale=scale)

    def depthwise_block(self, name: str, x: Shape, *, kernel: int, stride: int, function: Activation) -> Shape:
        """Append a depthwise convolution, a batch-norm and an activation.

        Parameters
        ----------
        name : str
            Prefix of their names.
        x : Shape
            Of the input.
        kernel, stride : int
            The window and its step.
        function : Activation
            Which.

        Returns
        -------
        Shape
            Of the output.
        """
        x = self.put(depthwise_conv(f"{name}/depthwise", x, kernel=kernel, stride=stride))
        return self._normalise(name, x, function, scale=True)

    def _normalise(self, name: str, x: Shape, function: Activation | None, *, scale: bool) -> Shape:
        x = self.put(batch_norm(f"{name}/bn", x, scale=scale))
        return x if function is None else self.put(activation(f"{name}/{function}", x, function))
