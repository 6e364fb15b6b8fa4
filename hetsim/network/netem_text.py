"""Read a netem qdisc from the text of a `tc` command."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from hetsim.errors import TraceError, clipped
from hetsim.lookup import did_you_mean
from hetsim.network import distributions, tc, tc_units
from hetsim.network.netem import MOST_DELAY_S, Chance, GilbertElliott, Netem, Slot, StateLoss
from hetsim.network.tc import Word, Words

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS: Final = (
    "limit",
    "latency",
    "delay",
    "loss",
    "drop",
    "seed",
    "ecn",
    "reorder",
    "corrupt",
    "gap",
    "duplicate",
    "distribution",
    "rate",
    "slot",
)
"""In the order in which tc compares them with an abbreviation."""

_TIME = (tc_units.time_s, "a time, such as 50ms")
_SHARE = (tc_units.share, "a percentage, such as 1%")
_LOSS_MODELS: Final = ("random", "state", "gemodel")


def parse_netem(text: str, folder: Path | None = None) -> Netem:
    """Return the qdisc that a text describes.

    Parameters
    ----------
    text : str
        The options of netem, such as ``delay 50ms 10ms 25% loss 1%``, or the whole `tc` command.
    folder : Path, optional
        Where paths of distribution tables start; the current one if left out.

    Returns
    -------
    Netem
        In SI units.

    Raises
    ------
    QdiscError
        With every problem of the text.

    Examples
    --------
    >>> netem = parse_netem("tc qdisc add dev eth0 root netem delay 50ms 10ms 25% loss 1%")
    >>> netem.delay_s, netem.jitter_s, netem.loss.probability_frac, netem.limit_packets
    (0.05, 0.01, 0.01, 1000)
    """
    words = Words(text, OPTIONS)
    kind = tc.skip_head(words)
    words.check()
    if kind != "netem":
        words.blame(0, f"this is a {kind}, and not a netem")
        words.check()
    return _Reader(words, folder or Path()).read()


class _Reader:
    """What has been read so far: fields of the qdisc, and where their options stand."""

    def __init__(self, words: Words, folder: Path) -> None:
        self.words, self.folder = words, folder
        self.fields: dict[str, object] = {}
        self.places: dict[str, int] = {}
        self.is_correlated = False
        self.handlers: dict[str, Callable[[Word], None]] = {
            "limit": self._limit,
            "latency": self._delay,
            "delay": self._delay,
            "loss": self._loss,
            "drop": self._loss,
            "seed": self._seed,
            "ecn": self._ecn,
            "reorder": self._reorder,
            "corrupt": self._corrupt,
            "gap": self._gap,
            "duplicate": self._duplicate,
            "distribution": self._distribution,
            "rate": self._rate,
            "slot": self._slot,
        }

    def read(self) -> Netem:
        """Read all options, then see whether they fit together."""
        while self.words.peek():
            word = self.words.take()
            name = self.words.option(word)
            if name:
                self.places[name] = word.column
                self.handlers[name](word)
            else:
                while self.words.is_number_next(signed=True):
                    self.words.take()
        self.words.check()
        self._finish()
        self.words.check()
        return Netem(**self.fields)  # type: ignore[arg-type]  # each handler gives its field its type

    def _set(self, **values: object) -> None:
        self.fields |= {name: value for name, value in values.items() if value is not None}

    def _limit(self, word: Word) -> None:
        self._set(limit_packets=self.words.value(word, tc_units.size_bytes, "a number of packets"))

    def _delay(self, word: Word) -> None:
        found = self.words.values(word, [_TIME, _TIME, _SHARE])
        for time in found[:2]:
            if isinstance(time, float) and time > MOST_DELAY_S:
                self.words.blame(word.column, f"netem can delay by {MOST_DELAY_S} s at most")
        self.is_correlated |= len(found) > 2
        names = ("delay_s", "jitter_s", "delay_correlation_frac")
        self._set(**dict(zip(names, found, strict=False)))

    def _loss(self, word: Word) -> None:
        if "loss" in self.fields:
            self.words.blame(word.column, "a second loss: netem has one model of it")
        if self.words.skip("state"):
            self._model(word, ("p13", "p31", "p32", "p23", "p14"), StateLoss, "p31")
        elif self.words.skip("gemodel"):
            self._model(word, ("p", "r", "bad_frac", "good_frac"), GilbertElliott, "r")
        elif self.words.skip("random") or self.words.is_number_next(signed=True) or not self.words.peek():
            self._set(loss=self._chance(word))
        else:
            wrong = self.words.take()
            hint = did_you_mean(wrong.text, _LOSS_MODELS) or "."
            known = f"Known: {', '.join(_LOSS_MODELS)}, or a percentage"
            self.words.blame(wrong.column, f"no model of loss {clipped(repr(wrong.text))}{hint} {known}")
            while self.words.is_number_next():
                self.words.take()

    def _model(
        self, word: Word, names: tuple[str, ...], make: type[StateLoss] | type[GilbertElliott], other: str
    ) -> None:
        """Read a chain: the first probability, whose rest is the default of the second, and as many as there are."""
        found = self.words.values(word, [_SHARE] * len(names))
        first = found[0]
        self.fields["loss"] = Chance()
        if isinstance(first, float) and None not in found:
            self.fields["loss"] = make(**({other: 1.0 - first} | dict(zip(names, found, strict=False))))  # type: ignore[arg-type]

    def _chance(self, word: Word) -> Chance | None:
        found = self.words.values(word, [_SHARE, _SHARE])
        if None in found:
            return None
        self.is_correlated |= len(found) > 1 and word.text != "duplicate"
        return Chance(*(value for value in found if isinstance(value, float)))

    def _seed(self, word: Word) -> None:
        self._set(seed=self.words.value(word, tc_units.seed, "a whole number"))

    def _ecn(self, _word: Word) -> None:
        self._set(ecn=True)

    def _reorder(self, word: Word) -> None:
        self._set(reorder=self._chance(word))

    def _corrupt(self, word: Word) -> None:
        self._set(corrupt=self._chance(word))

    def _duplicate(self, word: Word) -> None:
        self._set(duplicate=self._chance(Word("duplicate", word.column)))

    def _gap(self, word: Word) -> None:
        self._set(gap_packets=self.words.value(word, tc_units.count, "a number of packets"))

    def _distribution(self, word: Word) -> None:
        name, table = self._table(word)
        self._set(distribution=name, table=table)

    def _table(self, word: Word) -> tuple[str | None, tuple[int, ...] | None]:
        if not self.words.peek():
            self.words.blame(word.column, f"'distribution' needs a name. Known: {', '.join(distributions.NAMES)}")
            return None, None
        name = self.words.take()
        if name.text in distributions.NAMES:
            return name.text, ()
        if not distributions.is_file(name.text):
            self.words.blame(name.column, distributions.problem(name.text))
            return None, None
        try:
            return name.text, distributions.read_table(self.folder / name.text)
        except TraceError as error:
            self.words.blame(name.column, str(error))
            return None, None

    def _rate(self, word: Word) -> None:
        self._set(rate_bytes_per_s=self.words.value(word, tc_units.rate_bytes_per_s, "a rate, such as 10mbit"))
        names = ("packet_overhead_bytes", "cell_bytes", "cell_overhead_bytes")
        for name, reader in zip(names, (tc_units.whole, tc_units.count, tc_units.whole), strict=True):
            if not self.words.is_number_next(signed=reader is tc_units.whole):
                break
            self._set(**{name: self.words.value(word, reader, "a number of bytes")})

    def _slot(self, word: Word) -> None:
        slot = self._slot_by_table(word) if self.words.skip("distribution") else self._slot_by_range(word)
        for name, field, read in (("packets", "n_packets", tc_units.count), ("bytes", "n_bytes", tc_units.size_bytes)):
            following = self.words.peek()
            if following and name.startswith(following):
                slot[field] = self.words.value(self.words.take(), read, f"a number of {name}") or 0
        self._set(slot=Slot(**slot))  # type: ignore[arg-type]  # each key has its type

    def _slot_by_range(self, word: Word) -> dict[str, object]:
        found = self.words.values(word, [_TIME, _TIME])
        if None in found:
            return {}
        low, high = found[0], found[-1]
        if isinstance(low, float) and isinstance(high, float) and high < low:
            self.words.blame(word.column, "the longest time between slots is less than the shortest")
        return {"min_delay_s": low, "max_delay_s": high}

    def _slot_by_table(self, word: Word) -> dict[str, object]:
        name, table = self._table(word)
        centre, jitter = (self.words.value(word, *_TIME) for _ in range(2))
        if jitter == 0.0:
            self.words.blame(word.column, "the jitter of slots must be positive")
        if None in {name, centre, jitter}:
            return {}
        return {"distribution": name, "table": table, "delay_s": centre, "jitter_s": jitter}

    def _finish(self) -> None:
        """Say what is missing beside what is there, and fill in what tc fills in."""
        netem = Netem(**self.fields)  # type: ignore[arg-type]
        if netem.reorder.probability_frac:
            if not netem.delay_s:
                self._blame("reorder", "reordering needs a delay that the other packets wait for")
            self._set(gap_packets=netem.gap_packets or 1)
        elif netem.gap_packets:
            self._blame("gap", "a gap needs a probability: write reorder 25% gap 5")
        if netem.ecn and netem.loss == Chance():
            self._blame("ecn", "ecn marks packets that would be lost, so it needs a loss")
        if "distribution" in self.fields and not (netem.delay_s and netem.jitter_s):
            self._blame("distribution", "a distribution needs a delay and a jitter")
        if not self.is_correlated:
            self._set(duplicate=Chance(netem.duplicate.probability_frac))

    def _blame(self, option: str, message: str) -> None:
        self.words.blame(self.places.get(option, 0), message)
