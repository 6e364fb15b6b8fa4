"""Rows of a catalog file that know where they stand, so that every complaint names file and line."""

import csv
import math
from collections.abc import Collection, Iterable, Iterator, Mapping

from hetsim.errors import CatalogError


class Row:
    """One line of a catalog file, which knows where it stands.

    Parameters
    ----------
    file : str
        Name of the file.
    line : int
        Line in it, counted from one.
    cells : mapping of str to str
        Text of each column.
    """

    def __init__(self, file: str, line: int, cells: Mapping[str, str]) -> None:
        self.file, self.line, self._cells = file, line, cells

    def error(self, message: str) -> CatalogError:
        """Return an error that says where this row stands.

        Parameters
        ----------
        message : str
            What is wrong.

        Returns
        -------
        CatalogError
            To be raised.
        """
        return CatalogError(f"{self.file}:{self.line}: {message}")

    def text(self, column: str) -> str:
        """Return a text that must not be empty.

        Parameters
        ----------
        column : str
            Header of the column.

        Returns
        -------
        str
            The cell without surrounding blanks.

        Raises
        ------
        CatalogError
            If it is empty.
        """
        value = self._cells[column].strip()
        if not value:
            raise self.error(f"{column} is empty")
        return value

    def number(self, column: str, *, allow_zero: bool = False) -> float:
        """Return a positive finite number.

        Parameters
        ----------
        column : str
            Header of the column, whose suffix is the unit.
        allow_zero : bool
            Whether zero will do.

        Returns
        -------
        float
            In the unit of the column.

        Raises
        ------
        CatalogError
            If it is no number, not finite, negative, or zero where that is not allowed.
        """
        value = self.text(column)
        try:
            number = float(value)
        except ValueError:
            raise self.error(f"{column} {value!r} is not a number") from None
        if not math.isfinite(number):
            raise self.error(f"{column} {value!r} is not finite")
        if number < 0 or (number == 0 and not allow_zero):
            raise self.error(f"{column} {value!r} must be {'at least' if allow_zero else 'more than'} zero")
        return number

    def count(self, column: str, *, allow_zero: bool = False) -> int:
        """Return a positive whole number.

        Parameters
        ----------
        column : str
            Header of the column.
        allow_zero : bool
            Whether zero will do.

        Returns
        -------
        int
            The number.

        Raises
        ------
        CatalogError
            If `number` refuses it, or it is not whole.
        """
        number = self.number(column, allow_zero=allow_zero)
        if number != int(number):
            raise self.error(f"{column} {number!r} is not a whole number")
        return int(number)

    def choice(self, column: str, choices: Collection[str]) -> str:
        """Return one of the valid words.

        Parameters
        ----------
        column : str
            Header of the column.
        choices : collection of str
            The valid words.

        Returns
        -------
        str
            One of them.

        Raises
        ------
        CatalogError
            If it is none of them.
        """
        value = self.text(column)
        if value not in choices:
            raise self.error(f"no {column} {value!r}. Known: {', '.join(choices)}")
        return value


def read_rows(lines: Iterable[str], file: str, columns: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a catalog file.

    Parameters
    ----------
    lines : iterable of str
        The file.
    file : str
        Its name, for messages.
    columns : collection of str
        The headers it must have, in order.

    Yields
    ------
    Row
        One for each line.

    Raises
    ------
    CatalogError
        If the headers differ, or a row has more or fewer cells.
    """
    reader = csv.reader(lines, strict=True)
    header = next(reader, [])
    if header != list(columns):
        raise CatalogError(f"{file}:1: the columns must be {','.join(columns)}; found {','.join(header)}")
    for cells in reader:
        row = Row(file, reader.line_num, dict(zip(header, cells, strict=False)))
        if len(cells) != len(header):
            raise row.error(f"{len(cells)} cells instead of {len(header)}")
        yield row
