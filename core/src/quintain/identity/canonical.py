"""Canonical JSON: the same data gives the same bytes, on every machine and in every order of keys.

UTF-8, keys ordered by code point, no white space, integers exact, floats in Python's shortest form that reads back the same,
NaN and infinities refused. Characters that UTF-8 can't hold (lone surrogates, which stand for bytes that are no text) are
escaped as JSON escapes them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping

from quintain.errors import RecordError
from quintain.model.plain import Json

ALGORITHM = "sha256"


def canonical_json(data: Json) -> bytes:
    """The canonical bytes of plain data.

    Raises:
        RecordError: the data is not plain; the error has the path to what is wrong.
    """
    _check(data, ())
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text).encode()


def digest(data: Json) -> str:
    """Digest of plain data: `sha256:<hex>`. Raises RecordError as `canonical_json` does."""
    return digest_bytes(canonical_json(data))


def digest_bytes(data: bytes) -> str:
    """Digest of bytes: `sha256:<hex>`."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def _check(data: Json, path: tuple[str | int, ...]) -> None:
    if data is None or isinstance(data, bool | int | str):
        return
    if isinstance(data, float):
        if not math.isfinite(data):
            raise RecordError(f"{data!r} has no place in canonical data", path=path)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if not isinstance(key, str):
                raise RecordError(f"a key is text, not {key!r}", path=path)
            _check(value, (*path, key))
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            _check(value, (*path, index))
    else:
        raise RecordError(f"{type(data).__name__} is no plain data", path=path)
