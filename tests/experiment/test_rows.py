"""Tables are exact, tidy and the same bytes on every run."""

import csv
import io

from hetsim.experiment.rows import to_csv


def test_floats_come_back_exactly() -> None:
    values = [0.1, 1e-300, 2 / 3, 1e22]
    text = to_csv([{"value": value} for value in values]).decode()
    assert [float(row["value"]) for row in csv.DictReader(io.StringIO(text))] == values


def test_texts_are_quoted_where_they_must_be_and_none_is_empty() -> None:
    assert to_csv([{"a": 'x,"y"', "b": None, "c": True, "d": 3}]) == b'a,b,c,d\n"x,""y""",,True,3\n'


def test_no_rows_make_an_empty_file() -> None:
    assert to_csv([]) == b""
