"""One byte string for one meaning: canonical JSON, and the digest of it.

UTF-8; keys ordered by code point; no insignificant whitespace; integers exact; floats in their shortest form that reads
back as the same number, so `1` and `1.0` are different values; nothing escaped but what JSON demands. A surrogate, which
is how a byte that is no text travels in a string, becomes `\\udcxx`, as JSON itself would escape it.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from quintain.errors import RecordError
from quintain.model.plain import Json

ALGORITHM = "sha256"

DEEPEST = 200
"""Containers inside one another; a bound of our own, because Python's depends on who calls."""

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, sort_keys=True, separators=(",", ":")
).encode


def canonical_json(data: Json) -> bytes:
    """The canonical encoding of plain data: what JSON can hold; a tuple counts as a list.

    Raises:
        RecordError: the data holds NaN, an infinity, a key that is no text, or something that is no plain data, or is
            nested more than 200 levels deep; `path` leads to it.
    """
    _check(data, ())
    try:
        text = _encode(data)
    except ValueError as error:  # an integer of thousands of digits, which Python refuses to write
        raise RecordError(str(error)) from error
    return text.encode("utf-8", "backslashreplace")


def digest(data: Json) -> str:
    """Digest of plain data, `sha256:<hex>`. Raises what `canonical_json` raises."""
    return digest_bytes(canonical_json(data))


def digest_bytes(data: bytes) -> str:
    """Digest of bytes as they are, `sha256:<hex>`."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def _check(data: Any, path: tuple[str | int, ...]) -> None:
    """Refuse what the encoder would quietly turn into something else."""
    if len(path) > DEEPEST:
        raise RecordError("it is nested too deeply", path=path[:8])
    if isinstance(data, dict):
        for key, value in data.items():
            if not isinstance(key, str):
                raise RecordError(f"the key {key!r} is no text", path=path)
            if not isinstance(value, str):
                _check(value, (*path, key))
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            if not isinstance(value, str):
                _check(value, (*path, index))
    elif isinstance(data, float):
        if not math.isfinite(data):
            raise RecordError(f"{data!r} is no number that can be compared", path=path)
    elif data is not None and not isinstance(data, str | int):
        raise RecordError(f"{type(data).__name__} is no plain data", path=path)
