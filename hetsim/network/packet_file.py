"""Files of packets: what was sent, and what became of it."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from hetsim.errors import TraceError, clipped
from hetsim.lookup import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from hetsim.network.qdisc import Packets

NEEDED: Final = ("seq", "t_send_us", "size")
MARKABLE: Final = "ect"
"""Column that says which packets can carry congestion marks: 0 or 1."""

_MOST_NS: Final = 2**61
_MOST_DIGITS: Final = 40
_MOST_BYTES: Final = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Packets that were sent, in the order of the file.

    Parameters
    ----------
    seq : list of int, length n
        Their numbers, all different.
    send_ns : IntArray, shape (n,)
        When they were sent, in nanoseconds.
    size_bytes : IntArray, shape (n,)
        On the wire.
    can_be_marked : BoolArray, shape (n,)
        Whether they can carry congestion marks.
    """

    seq: list[int]
    send_ns: "npt.NDArray[np.int64]"
    size_bytes: "npt.NDArray[np.int64]"
    can_be_marked: "npt.NDArray[np.bool_]"


def read_packets(path: Path) -> Sent:
    """Read a CSV file of packets.

    Parameters
    ----------
    path : Path
        With a header: columns seq, t_send_us (microseconds) and size (bytes on the wire), in any order; `ect`, 0 or 1,
        says which packets can carry congestion marks; other columns are not read.

    Returns
    -------
    Sent
        The packets.

    Raises
    ------
    TraceError
        With line and column of the first problem.
    OSError
        If the file cannot be read.
    """
    import numpy as np

    numbers: dict[int, int] = {}
    rows: list[tuple[int, int, int]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            places = _places(str(path), next(lines, []))
            for cells in lines:
                if cells:
                    row = _Row(str(path), lines.line_num, cells, places)
                    seq = row.whole("seq", -(2**63), 2**63 - 1)
                    if seq in numbers:
                        row.blame("seq", f"packet {seq} is in line {numbers[seq]} already")
                    numbers[seq] = lines.line_num
                    is_markable = row.whole(MARKABLE, 0, 1) if MARKABLE in places else 0
                    rows.append((row.nanoseconds("t_send_us"), row.whole("size", 0, _MOST_BYTES), is_markable))
    except UnicodeDecodeError:
        raise TraceError(str(path), 0, 0, "not a text file") from None
    except csv.Error as error:
        raise TraceError(str(path), lines.line_num, 0, str(error)) from None
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Sent(
        seq=list(numbers), send_ns=table[:, 0].copy(), size_bytes=table[:, 1].copy(), can_be_marked=table[:, 2] == 1
    )


def _places(path: str, header: Sequence[str]) -> dict[str, int]:
    """Return where the columns are."""
    names = [name.strip() for name in header]
    for name in NEEDED:
        if name not in names:
            hint = did_you_mean(name, [other for other in names if other]) if names else ""
            message = f"the header has no column {name!r}{hint or '.'} Needed: {', '.join(NEEDED)}"
            raise TraceError(path, 1, 1, message)
        if names.count(name) > 1:
            raise TraceError(path, 1, _column(header, len(names) - 1), f"the column {name!r} is there twice")
    return {name: index for index, name in enumerate(names) if name in {*NEEDED, MARKABLE}}


def _column(cells: Sequence[str], index: int) -> int:
    return 1 + sum(len(cell) + 1 for cell in cells[:index])


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the file."""

    path: str
    line: int
    cells: Sequence[str]
    places: Mapping[str, int]

    def blame(self, name: str, message: str) -> NoReturn:
        raise TraceError(self.path, self.line, _column(self.cells, self.places[name]), message)

    def _cell(self, name: str) -> str:
        place = self.places[name]
        if place >= len(self.cells):
            message = f"{len(self.cells)} cells, and none for {name!r}"
            raise TraceError(self.path, self.line, _column(self.cells, len(self.cells) - 1), message)
        return self.cells[place].strip()

    def whole(self, name: str, least: int, most: int) -> int:
        text = self._cell(name)
        digits = text.removeprefix("-")
        number = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else None
        if number is None or not least <= number <= most:
            self.blame(name, f"{name} {clipped(repr(text))} is no whole number from {least} to {most}")
        return number

    def nanoseconds(self, name: str) -> int:
        text = self._cell(name)
        try:
            time_ns = Decimal(text) * 1000
            number = round(time_ns) if abs(time_ns) < _MOST_NS else None
        except (ArithmeticError, ValueError):
            number = None
        if number is None:
            self.blame(name, f"{name} {clipped(repr(text))} is no number of microseconds within 73 years")
        return number


def packets_csv(seq: Sequence[int], packets: "Packets", *, corrupt: bool = False, marked: bool = False) -> str:
    """Return what became of packets, as CSV.

    Parameters
    ----------
    seq : sequence of int, length n
        Numbers of the packets.
    packets : Packets
        From `hetsim.network.qdisc`.
    corrupt, marked : bool
        Whether to add these columns.

    Returns
    -------
    str
        Columns seq, t_recv_us (empty if lost), copy and lost, a row for each arrival and each loss.
    """
    columns = [packets.is_copy, packets.is_lost]
    names = ["seq", "t_recv_us", "copy", "lost"]
    for name, is_wanted, column in (("corrupt", corrupt, packets.is_corrupt), ("marked", marked, packets.is_marked)):
        if is_wanted:
            names.append(name)
            columns.append(column)
    flags = [column.astype(int).tolist() for column in columns]
    text = io.StringIO()
    text.write(",".join(names) + "\n")
    for packet, time_ns, *row in zip(packets.packet.tolist(), packets.receive_ns.tolist(), *flags, strict=True):
        is_lost = row[1]
        cells = [str(seq[packet]), "" if is_lost else _microseconds(time_ns), *map(str, row)]
        text.write(",".join(cells) + "\n")
    return text.getvalue()


def _microseconds(time_ns: int) -> str:
    sign = "-" if time_ns < 0 else ""
    return f"{sign}{abs(time_ns) // 1000}.{abs(time_ns) % 1000:03d}"
