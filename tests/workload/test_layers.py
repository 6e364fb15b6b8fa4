import pytest

from hetsim.errors import HetsimError
from hetsim.workload.builder import Network
from hetsim.workload.weighted import batch_norm, conv, depthwise_conv, linear
from hetsim.workload.weightless import activation, adaptive_pool, add, concat, dropout, pool, scale


@pytest.mark.parametrize(
    ("layer", "out_shape", "n_params", "macs"),
    [
        (conv("c", (3, 224, 224), 64, kernel=7, stride=2), (64, 112, 112), 9408, 118013952),
        (conv("c", (3, 299, 299), 32, stride=2, padding=0), (32, 149, 149), 864, 864 * 149 * 149),
        (conv("c", (128, 17, 17), 192, kernel=(1, 7)), (192, 17, 17), 128 * 192 * 7, 128 * 192 * 7 * 17 * 17),
        (conv("c", (1, 32, 32), 6, kernel=5, padding=0, bias=True), (6, 28, 28), 156, 150 * 28 * 28),
        (depthwise_conv("d", (32, 112, 112), stride=2), (32, 56, 56), 288, 288 * 56 * 56),
        (linear("l", (16, 5, 5), 120), (120,), 48120, 48000),
        (batch_norm("b", (64, 7, 7)), (64, 7, 7), 128, 0),
        (batch_norm("b", (64, 7, 7), scale=False), (64, 7, 7), 64, 0),
        (pool("p", (64, 112, 112), kernel=3, stride=2, padding=1), (64, 56, 56), 0, 0),
        (adaptive_pool("p", (512, 1, 1), 7), (512, 7, 7), 0, 0),
        (concat("j", ((64, 35, 35), (32, 35, 35)), (192, 35, 35)), (96, 35, 35), 0, 0),
    ],
)
def test_shapes_and_counts(layer, out_shape, n_params, macs):
    assert (layer.out_shape, layer.n_params, layer.macs) == (out_shape, n_params, macs)


@pytest.mark.parametrize(
    ("layer", "forward_flop", "backward_flop", "forward_bytes", "backward_bytes", "saved_bytes"),
    [  # x = 2*4*4 = 32 elements in; every expectation is written out by hand
        (conv("c", (2, 4, 4), 3), 2 * 864, 4 * 864, 4 * (32 + 48), 8 * (32 + 48), 4 * 48),
        (conv("c", (2, 4, 4), 3, is_first=True), 2 * 864, 2 * 864, 4 * 80, 4 * 80, 4 * 80),
        (depthwise_conv("d", (2, 4, 4)), 2 * 288, 4 * 288, 4 * 64, 8 * 64, 4 * 32),
        (linear("l", (2, 4, 4), 5), 320, 640, 4 * 37, 8 * 37, 4 * 5),
        (batch_norm("b", (2, 4, 4)), 224, 288, 4 * 96, 4 * 160, 4 * 32),
        (batch_norm("b", (2, 4, 4), scale=False), 192, 288, 4 * 96, 4 * 160, 4 * 32),
        (activation("a", (2, 4, 4)), 32, 32, 4 * 64, 4 * 96, 0),
        (activation("a", (2, 4, 4), "hard-swish"), 160, 160, 4 * 64, 4 * 96, 4 * 32),
        (pool("p", (2, 4, 4), kernel=2, stride=2), 32, 32, 4 * 40, 8 * 40, 4 * 8),
        (pool("p", (2, 4, 4), kernel=2, stride=2, mode="average"), 32, 32, 4 * 40, 4 * 40, 4 * 8),
        (adaptive_pool("p", (2, 4, 4)), 32, 32, 4 * 34, 4 * 34, 4 * 2),
        (add("s", (2, 4, 4)), 32, 32, 4 * 96, 4 * 96, 0),
        (concat("j", ((1, 4, 4), (1, 4, 4)), (3, 4, 4)), 0, 48, 4 * 64, 4 * (64 + 144), 4 * 32),
        (scale("s", (2, 4, 4)), 32, 96, 4 * 64, 4 * 96, 4 * 32),
        (dropout("d", (2, 4, 4)), 32, 32, 4 * 64 + 32, 4 * 64 + 32, 4 * 32 + 32),
    ],
)
def test_costs_follow_the_stated_rules(  # noqa: PLR0917
    layer, forward_flop, backward_flop, forward_bytes, backward_bytes, saved_bytes
):
    assert layer.forward_flop == forward_flop
    assert layer.backward_flop == backward_flop
    assert layer.forward_bytes == forward_bytes
    assert layer.backward_bytes == backward_bytes
    assert layer.saved_bytes == saved_bytes


def test_variables_come_in_tensorflow_order():
    assert [v.name for v in conv("c", (3, 8, 8), 4, bias=True).variables] == ["c/kernel", "c/bias"]
    assert [v.name for v in linear("l", (3,), 4).variables] == ["l/kernel", "l/bias"]
    assert [v.name for v in batch_norm("b", (3, 8, 8)).variables] == ["b/gamma", "b/beta"]
    assert conv("c", (3, 8, 8), 4).gradient_bytes == 4 * 3 * 4 * 9


def test_a_window_that_does_not_fit_says_so():
    with pytest.raises(HetsimError, match=r"layer 'p' has a window of 3 pixels, but only 2 \+ 0 are left"):
        pool("p", (8, 2, 2), kernel=3, stride=2)


def test_names_are_unique_within_a_network():
    network = Network()
    network.put(add("s", (1, 1, 1)))
    with pytest.raises(AssertionError, match="'s'"):
        network.put(add("s", (1, 1, 1)))
