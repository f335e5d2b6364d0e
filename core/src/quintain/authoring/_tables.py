"""The tables of a case file: how what is shared and what is a case's own come together, and what they can't say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quintain.authoring._document import Document, is_file
from quintain.authoring._lines import Key
from quintain.authoring._parameters import DATASETS, Row
from quintain.authoring._placeholders import Placeholders
from quintain.authoring._structure import nearest
from quintain.authoring.sources import LISTS, Origin
from quintain.errors import AuthoringError
from quintain.model.plain import quoted

_MERGED = ("limits", "matrix")


def merge(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A case's own table over what is shared: lists are added, limits and parameters merge, all else is replaced."""
    merged = dict(shared)
    if "prompt" in own or "prompt_file" in own:
        merged.pop("prompt", None)
        merged.pop("prompt_file", None)
    limits = own.get("limits")
    if isinstance(limits, Mapping) and "timeout_s" in limits:
        merged.pop("timeout_s", None)
    if "timeout_s" in own and isinstance(merged.get("limits"), Mapping):
        merged["limits"] = {key: value for key, value in merged["limits"].items() if key != "timeout_s"}
    for key, value in own.items():
        old = merged.get(key)
        if key in LISTS and isinstance(old, list) and isinstance(value, list):
            value = [*old, *value]
        elif key in _MERGED and isinstance(old, Mapping) and isinstance(value, Mapping):
            value = {**old, **value}
        merged[key] = value
    return merged


def contradictions(document: Document, key: Key, table: Mapping[str, Any]) -> Iterator[AuthoringError]:
    """What one table says twice, and what can't be merged."""
    if "prompt" in table and "prompt_file" in table:
        yield AuthoringError(
            "the prompt is said twice, by `prompt` and by `prompt_file`", where=document.where((*key, "prompt_file"))
        )
    limits = table.get("limits", {})
    if "timeout_s" in table and isinstance(limits, Mapping) and "timeout_s" in limits:
        yield AuthoringError(
            "`timeout_s` is said twice, here and in `limits`", where=document.where((*key, "timeout_s"))
        )
    for name in LISTS:
        if name in table and not isinstance(table[name], list):
            # Said here, because merging would blame another line.
            yield AuthoringError(
                f"a list is wanted here, not {quoted(table[name])}", where=document.where((*key, name))
            )
    for name in _MERGED:
        if name in table and not isinstance(table[name], Mapping):
            yield AuthoringError(
                f"a table is wanted here, not {quoted(table[name])}", where=document.where((*key, name))
            )


def idle_parameters(
    texts: Mapping[str, Any], matrix: Mapping[str, Any], row: Row, origin: Origin
) -> Iterator[AuthoringError]:
    """Parameters that change nothing, so that cases would only be repeated.

    Args:
        texts: all in which a placeholder may stand.
        matrix: each of its parameters must be used; of a dataset's one is enough.
        row: any one set of parameters.
        origin: of the case.
    """
    used = Placeholders(row.values).used(dict(texts))
    for name in matrix:
        if name not in used:
            yield AuthoringError(
                f"the parameter `{name}` is used nowhere: write {{{name}}} where its values should stand",
                where=origin.where(("matrix", name)),
            )
    columns = [name for name in row.values if name not in matrix]
    if columns and not used & set(columns):
        yield AuthoringError(
            "the dataset is used nowhere",
            where=origin.where(("dataset",)),
            hint=f"write one of {', '.join(f'{{{name}}}' for name in columns)} where its values should stand",
        )


def dataset_path(dataset: Any, file: Path, origin: Origin) -> Path:
    """The file that a dataset table names.

    Raises:
        AuthoringError: the table can't be used.
    """
    if not isinstance(dataset, Mapping):
        raise AuthoringError(
            f"a table with `file` is wanted here, not {quoted(dataset)}", where=origin.where(("dataset",))
        )
    for key in dataset:
        if key != "file":
            where = origin.where(("dataset", key))
            raise AuthoringError(f"unknown key `{key}`", where=where, hint=nearest(key, ["file"]))
    stated = dataset.get("file")
    if not isinstance(stated, str):
        where = origin.where(("dataset", "file"))
        raise AuthoringError(f"`file` must be the path of a dataset, not {quoted(stated)}", where=where)
    path = file.parent / stated
    if path.suffix.lower() not in DATASETS:
        hint = f"it has to end in {' or '.join(DATASETS)}"
        raise AuthoringError(f"`{stated}` is no dataset", where=origin.where(("dataset", "file")), hint=hint)
    if not is_file(path):
        raise AuthoringError(f"`{stated}` doesn't exist", where=origin.where(("dataset", "file")))
    return path
