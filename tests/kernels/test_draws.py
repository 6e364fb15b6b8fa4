import numpy as np
import pytest
from scipy.stats import kstest, norm

from hetsim.kernels import draws


@pytest.mark.parametrize(
    ("key0", "key1"), [(0, 0), (1, 2), (2**64 - 1, 2**63 + 12345), (123456789, 987654321987654321)]
)
def test_philox_is_bit_equal_to_numpys(key0: int, key1: int) -> None:
    # numpy advances the counter before each block, so its first block is that of counter 1.
    expected = np.random.Philox(key=np.array([key0, key1], dtype=np.uint64), counter=0).random_raw(40).reshape(10, 4)
    for counter in range(1, 11):
        words = draws.philox(np.uint64(key0), np.uint64(key1), np.uint64(counter))
        assert [int(word) for word in words] == [int(word) for word in expected[counter - 1]]


def test_normal_quantile_agrees_with_scipy() -> None:
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 2001), 10.0 ** -np.arange(7.0, 300.0, 7.0)])
    ours = np.array([draws.normal_quantile(x) for x in p])
    np.testing.assert_allclose(ours, norm.ppf(p), rtol=4e-15, atol=1e-15)


def test_a_draw_depends_on_its_key_alone() -> None:
    stream = draws.stream_key("compute", "train", 3)
    long = draws.lognormal_factors(7, 2, stream, 100, 0.2)
    np.testing.assert_array_equal(draws.lognormal_factors(7, 2, stream, 10, 0.2), long[:10])
    others = [
        draws.lognormal_factors(8, 2, stream, 100, 0.2),
        draws.lognormal_factors(7, 3, stream, 100, 0.2),
        draws.lognormal_factors(7, 2, draws.stream_key("compute", "train", 4), 100, 0.2),
    ]
    assert all(np.all(other != long) for other in others)


def test_stream_keys_do_not_run_together() -> None:
    assert draws.stream_key("a", "bc") != draws.stream_key("ab", "c")
    assert draws.stream_key("compute", "train", 0) == 9328558856986258590  # the same in every process


@pytest.mark.parametrize("cv", [0.01, 0.1, 0.5, 2.0])
def test_lognormal_factors_have_mean_one_and_the_stated_variation(cv: float) -> None:
    n = 200_000
    factors = draws.lognormal_factors(1, 0, draws.stream_key("x"), n, cv)
    sigma = np.sqrt(np.log1p(cv**2))
    assert kstest(np.log(factors), norm(-(sigma**2) / 2, sigma).cdf).pvalue > 1e-3
    assert abs(factors.mean() - 1.0) < 5 * cv / np.sqrt(n)


def test_no_variation_means_no_noise() -> None:
    np.testing.assert_array_equal(draws.lognormal_factors(1, 0, 5, 9, 0.0), np.ones(9))


@pytest.mark.parametrize("cv", [-0.1, float("nan"), float("inf")])
def test_a_bad_coefficient_of_variation_is_refused(cv: float) -> None:
    with pytest.raises(ValueError, match="coefficient of variation"):
        draws.lognormal_factors(1, 0, 5, 9, cv)


def test_uniforms_are_uniform_and_open() -> None:
    u = draws.uniforms(3, 1, draws.stream_key("u"), 100_000)
    assert u.min() > 0.0
    assert u.max() < 1.0
    assert kstest(u, "uniform").pvalue > 1e-3
    assert draws.unit(np.uint64(0)) > 0.0
    assert draws.unit(np.uint64(2**64 - 1)) < 1.0
