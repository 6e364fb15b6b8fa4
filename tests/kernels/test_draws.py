import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest, norm

from hetsim.kernels import draws, normal

ONES = 2**64 - 1


def words(key: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(int(word) for word in draws.philox(np.uint64(key), np.uint64(low), np.uint64(high)))


@pytest.mark.parametrize(
    ("key", "low", "high", "expected"),
    [
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (ONES, ONES, ONES, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0_A4093822,
            0x85A308D3_243F6A88,
            0x03707344_13198A2E,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_words(key: int, low: int, high: int, expected: tuple[int, ...]) -> None:
    # The known answers that Random123 comes with (kat_vectors); the last one counts and keys with the digits of pi.
    assert words(key, low, high) == expected


def test_philox_agrees_with_exact_arithmetic() -> None:
    rng = np.random.default_rng(5)
    for key, low, high in rng.integers(0, ONES, (50, 3), dtype=np.uint64, endpoint=True).tolist():
        keys, x = [key % 2**32, key >> 32], [low % 2**32, low >> 32, high % 2**32, high >> 32]
        for _ in range(10):
            first, third = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
            x = [(third >> 32) ^ x[1] ^ keys[0], third % 2**32, (first >> 32) ^ x[3] ^ keys[1], first % 2**32]
            keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
        assert words(key, low, high) == tuple(x)


def probabilities() -> np.ndarray:
    """Both ends of what `unit` returns, the middle, and all scales between, as odd multiples of 2**-53."""
    numerators = [2 * k + 1 for k in (0, 1, 2, 2**51 - 1, 2**51, 2**52 - 2, 2**52 - 1)]
    for scale in np.linspace(1.0, 52.0, 400):
        odd = 2 * int(2.0 ** (scale - 1.0)) + 1
        numerators += [odd, 2**53 - odd]
    numerators += range(1, 2**53, 2 * (2**53 // 3000))
    return np.array(sorted(set(numerators))) * 2.0**-53


def test_normal_quantile_agrees_with_scipy() -> None:
    p = probabilities()
    ours = np.array([normal.normal_quantile(x) for x in p])
    np.testing.assert_allclose(ours, ndtri(p), rtol=3e-15, atol=3e-15)


def exact_lognormal(p: float, sigma: float, drift: float) -> Decimal:
    """Return the factor with 40 digits: the quantile by Newton's method on the series of the normal distribution."""
    tail = Decimal(min(p, 1.0 - p))
    z = Decimal(abs(float(ndtri(float(tail)))))
    root = (2 * Decimal("3.1415926535897932384626433832795028841971694")).sqrt()
    for _ in range(3):
        density = (-z * z / 2).exp() / root
        # Phi(z) = 1/2 + density (z + z^3 / 3 + z^5 / (3 5) + ...)
        term = total = z
        n = 1
        while term > Decimal("1e-65"):
            n += 2
            term = term * z * z / n
            total += term
        z += (Decimal("0.5") - density * total - tail) / density
    return (Decimal(sigma) * (z if p > 0.5 else -z) + Decimal(drift)).exp()


@pytest.mark.parametrize("cv", [0.05, 0.5, 2.0])
def test_lognormal_factors_are_right_to_13_digits_from_end_to_end(cv: float) -> None:
    sigma, drift = draws.spread(cv)
    assert sigma == pytest.approx(math.sqrt(math.log1p(cv * cv)), rel=2e-15)
    with localcontext() as context:
        context.prec = 60
        for p in [2.0**-53, 3e-16, 1e-12, 1e-5, 0.01, 0.3, 0.5 - 2.0**-53, 0.7, 0.975, 1.0 - 1e-9, 1.0 - 2.0**-53]:
            exact = exact_lognormal(p, sigma, drift)
            assert abs(Decimal(draws.lognormal_of(p, sigma, drift)) / exact - 1) < Decimal("1e-13")


@pytest.mark.parametrize(
    "x", [1e-300, 1e-9, 0.5, 0.7071067811865475, 0.70710678118654757, 1.0, 1.4142135623730951, 1e300]
)
def test_logarithms(x: float) -> None:
    assert normal.log(x) == pytest.approx(math.log(x), rel=1e-15, abs=0.0)


@pytest.mark.parametrize("x", [-699.9, -30.0, -0.34657359, -1e-9, -0.0, 0.0, 1e-300, 0.34657359, 1.0, 36.0, 700.0])
def test_exponentials(x: float) -> None:
    assert normal.exp(x) == pytest.approx(math.exp(x), rel=2e-15, abs=0.0)


def test_exponentials_end_above_zero() -> None:
    assert normal.exp(-1e4) == normal.exp(-700.0) > 0.0
    assert normal.exp(0.0) == normal.exp(-0.0) == 1.0


@pytest.mark.parametrize("cv", [0.0, 1e-200, 1e-9, 0.6, 0.7, 99.0, 1e8, 1e160, 1.7e308])
def test_any_variation_has_a_spread(cv: float) -> None:
    sigma, drift = draws.spread(cv)
    variance = math.log1p(cv * cv) if cv < 1e100 else 2.0 * math.log(cv)
    assert sigma == pytest.approx(math.sqrt(variance), rel=1e-14)
    assert drift == pytest.approx(-variance / 2.0, rel=1e-14)
    factors = draws.lognormal_factors(1, 0, 2, 1000, cv)
    assert np.all(np.isfinite(factors) & (factors > 0.0))


@pytest.mark.parametrize("cv", [0.0, 0.1, 1.5])
@pytest.mark.parametrize("n", [1, 2, 3, 1023, 1024, 1025, 3001])
def test_one_draw_has_the_bits_of_the_same_among_many(cv: float, n: int) -> None:
    # One is computed alone, the others several at a time by vector instructions.
    key, stream = np.uint64(draws.stream_key(4, 1)), np.uint64(ONES - 5)
    many = draws.lognormal_factors(4, 1, int(stream), n, cv)
    one_by_one = np.array([draws.lognormal(key, stream, step, cv) for step in range(n)])
    np.testing.assert_array_equal(many, one_by_one)
    u = draws.uniforms(4, 1, int(stream), n)
    np.testing.assert_array_equal(u, [draws.uniform(key, stream, step) for step in range(n)])


def test_a_quantile_alone_has_the_bits_of_the_same_among_many() -> None:
    p = probabilities()
    out = np.empty_like(p)
    normal.fill_normal_quantiles(p, out)
    np.testing.assert_array_equal(out, [normal.normal_quantile(x) for x in p])


def test_draws_have_the_bits_that_they_had() -> None:
    # From Philox's words to the last bit of the factor; the same on every machine.
    factors = draws.lognormal_factors(7, 2, draws.stream_key("compute", "train", 3), 4, 0.2)
    assert [x.hex() for x in factors.tolist()] == [
        "0x1.794694b257f31p-1",
        "0x1.9a4b6b5f81268p-1",
        "0x1.10a55276fe7afp+0",
        "0x1.a2c7c8a507f62p-1",
    ]


def test_a_draw_depends_on_its_key_alone() -> None:
    stream = draws.stream_key("compute", "train", 3)
    long = draws.lognormal_factors(7, 2, stream, 100, 0.2)
    np.testing.assert_array_equal(draws.lognormal_factors(7, 2, stream, 10, 0.2), long[:10])
    others = [
        draws.lognormal_factors(8, 2, stream, 100, 0.2),
        draws.lognormal_factors(7, 3, stream, 100, 0.2),
        draws.lognormal_factors(7, 2, draws.stream_key("compute", "train", 4), 100, 0.2),
        draws.lognormal_factors(7, 2, stream ^ 2**63, 100, 0.2),
        draws.lognormal_factors(7, 2, stream ^ 1, 100, 0.2),
    ]
    assert all(np.all(other != long) for other in others)


def test_steps_beyond_the_first_word_have_draws_of_their_own() -> None:
    key, stream = np.uint64(1), np.uint64(2)
    steps = [0, 1, 2, 2**31, 2**33, 2**33 + 1, 2**34]
    assert len({draws.uniform(key, stream, step) for step in steps}) == len(steps)


def test_neighbours_are_not_correlated() -> None:
    # Two steps share a block, and streams of neighbouring numbers the rest of the counter.
    n = 100_000
    u = draws.uniforms(3, 1, 10, n)
    others = [u[1:], draws.uniforms(3, 1, 11, n), draws.uniforms(3, 2, 10, n), draws.uniforms(3, 1, 10 + 2**32, n)]
    for other in others:
        assert abs(np.corrcoef(u[: other.size], other)[0, 1]) < 5 / math.sqrt(n)


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
    none, all_bits = np.uint64(0), np.uint64(2**32 - 1)
    assert draws.unit(none, none) == 2.0**-53
    assert draws.unit(all_bits, all_bits) == 1.0 - 2.0**-53
