"""Parameters of cases: the products of a matrix, the rows of a dataset."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quintain.authoring._document import place, read_lines, shown
from quintain.authoring._placeholders import as_text
from quintain.errors import AuthoringError
from quintain.model.plain import Json, quoted

MOST = 100_000
"""More cases than this in one file are taken for a mistake."""

_NO_NAME = "the name of a parameter has at least one character, and none of { } !"
_LABEL = re.compile(r"[A-Za-z0-9_.+-]{1,40}")


@frozen
class Row:
    """One set of parameters.

    Attributes:
        values: by name.
        label: what tells it from others in an id, as `lang=py,size=1`.
        place: file and line of a dataset's row.
    """

    values: Mapping[str, Json] = field(factory=dict)
    label: str = ""
    place: str | None = None


def matrix_rows(matrix: Mapping[str, Any]) -> Iterator[Row]:
    """Every combination of values; parameters in the order of their names, so that spelling doesn't matter.

    Args:
        matrix: lists of values by name; `matrix_problem` has found nothing wrong.
    """
    names = sorted(matrix)
    choices = [[(value, _label(value, number)) for number, value in enumerate(matrix[name], 1)] for name in names]
    for chosen in itertools.product(*choices):
        pairs = list(zip(names, chosen, strict=True))
        label = ",".join(f"{name}={short}" for name, (_, short) in pairs)
        yield Row({name: value for name, (value, _) in pairs}, label)


def matrix_problem(matrix: Any) -> tuple[tuple[str | int, ...], str] | None:
    """The key and what is wrong with it, if a matrix can't be used."""
    if not isinstance(matrix, Mapping):
        return (), f"a table is wanted here, not {quoted(matrix)}"
    for name, values in matrix.items():
        if not _can_be_name(name):
            return (name,), f"{_NO_NAME}: `{name}`"
        if not isinstance(values, list) or not values:
            return (name,), f"a list of values is wanted here, not {quoted(values)}"
    size = math.prod(len(values) for values in matrix.values())
    if size > MOST:
        return (), f"it has {size} combinations; {MOST} are the most"
    return None


def dataset_rows(path: Path) -> list[Row]:
    """The rows of a dataset, each a set of parameters.

    Args:
        path: of a `.jsonl` file with an object a line, or of a `.csv` file with names in its first line.

    Raises:
        AuthoringError: it can't be read or a row can't be used, with the line.
    """
    rows: list[Row] = []
    names: list[str] = []
    file = shown(path)
    for line, values in _READERS[path.suffix.lower()](path, read_lines(path)):
        where = f"{file}:{line}"
        if not rows:
            names = sorted(values)
            _check_names(names, where)
        if sorted(values) != names:
            raise AuthoringError(_difference(names, values), where=where)
        rows.append(Row(values, f"row={len(rows) + 1}", where))
        if len(rows) > MOST:
            raise AuthoringError(f"it has more than {MOST} rows", where=where)
    if not rows:
        raise AuthoringError("it has no rows", where=file)
    return rows


def combine(dataset: Sequence[Row], matrix: Sequence[Row]) -> Iterator[Row]:
    """Every row of the dataset with every combination of the matrix."""
    for row in dataset:
        for combination in matrix:
            label = ",".join(part for part in (row.label, combination.label) if part)
            yield Row({**row.values, **combination.values}, label, row.place)


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line, object_pairs_hook=_object, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise AuthoringError(f"this is not a line of JSON: {said}", where=place(path, number)) from error
        if not isinstance(values, dict):
            raise AuthoringError(
                f"an object is wanted in each line, not {line.strip()[:60]}", where=place(path, number)
            )
        yield number, values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(name for name in names if names.count(name) > 1)}` stands twice in one object")
    return values


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number in JSON")


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Json]]]:
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None and cells:
                header = [cell.strip() for cell in cells]
                _check_names(header, place(path, line))
                if len(set(header)) < len(header):
                    raise AuthoringError("a name stands twice in the first line", where=place(path, line))
            elif header is not None and cells:
                if len(cells) != len(header):
                    raise AuthoringError(f"it has {len(cells)} cells, not {len(header)}", where=place(path, line))
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise AuthoringError(f"this is not CSV: {error}", where=place(path, line)) from error


_READERS = {".jsonl": _json_rows, ".csv": _csv_rows}
DATASETS = tuple(_READERS)
"""How the names of datasets end."""


def _difference(names: Sequence[str], values: Mapping[str, Json]) -> str:
    missing = [name for name in names if name not in values]
    if missing:
        return f"`{missing[0]}` is missing; all rows have the same names"
    more = next(name for name in values if name not in names)
    return f"`{more}` stands in no row above; all rows have the same names"


def _check_names(names: Sequence[str], where: str) -> None:
    for name in names:
        if not _can_be_name(name):
            raise AuthoringError(f"{_NO_NAME}: `{name}`", where=where)


def _can_be_name(name: str) -> bool:
    return bool(name) and not set(name) & set("{}!")


def _label(value: Json, number: int) -> str:
    text = as_text(value)
    return text if _LABEL.fullmatch(text) else f"no.{number}"
