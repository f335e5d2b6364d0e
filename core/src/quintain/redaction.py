"""Secrets are taken out at the one place where evidence is written: events, raw protocol, file contents, errors.

A secret is a declared value, the content of a host variable that an agent may see. It is found as it is, as JSON
escapes it (once or twice), as a URL encodes it and inside base64 at any alignment. Not found: a secret that the agent
split, reversed or encrypted.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from attrs import field, frozen

from quintain.errors import UsageError

SHORTEST = 6
"""A shorter value can't be told from ordinary text."""


def _in_base64(value: bytes) -> Iterator[str]:
    """The characters that a value always becomes in base64, for each of the three places it can start at."""
    for skip in range(3):
        whole = (skip + len(value)) // 3 * 3 - skip
        encoded = base64.b64encode(b"\0" * skip + value[:whole]).decode()
        certain = encoded[(skip * 8 + 5) // 6 :]
        if len(certain) >= SHORTEST:
            yield certain
            yield certain.replace("+", "-").replace("/", "_")
    yield base64.b64encode(value).decode()


def _forms(value: str) -> set[str]:
    escaped = json.dumps(value)[1:-1]
    data = value.encode("utf-8", "surrogateescape")
    forms = {value, escaped, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(escaped)[1:-1]}
    forms |= {quote(data, safe=""), quote(data), quote_plus(data)}
    forms |= set(_in_base64(data))
    return forms


@frozen
class Redactor:
    """Replaces secrets by `[redacted:NAME]`.

    Attributes:
        names: the variables whose values are looked for.
    """

    names: tuple[str, ...] = ()
    _names_by_form: Mapping[str, str] = field(factory=dict, repr=False, alias="names_by_form")
    _text: re.Pattern[str] | None = field(default=None, repr=False, alias="text_pattern")
    _bytes: re.Pattern[bytes] | None = field(default=None, repr=False, alias="bytes_pattern")

    @classmethod
    def of(cls, secrets: Mapping[str, str]) -> Redactor:
        """A redactor for values by the names of their variables; empty values are no secrets.

        Raises:
            UsageError: a value is too short to be told from ordinary text.
        """
        names: dict[str, str] = {}
        for name, value in secrets.items():
            if value and len(value) < SHORTEST:
                raise UsageError(
                    f"the value of the secret {name} has fewer than {SHORTEST} characters and can't be redacted safely",
                    hint="pass it by pass_env if it is no secret",
                )
            if value:
                names.update(dict.fromkeys(_forms(value), name))
        if not names:
            return cls()
        forms = sorted(names, key=len, reverse=True)
        return cls(
            tuple(name for name, value in secrets.items() if value),
            names,
            re.compile("|".join(map(re.escape, forms))),
            re.compile(b"|".join(re.escape(form.encode("utf-8", "surrogateescape")) for form in forms)),
        )

    @property
    def active(self) -> bool:
        """There is something to look for."""
        return self._text is not None

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._text is None:
            return text
        return self._text.sub(lambda match: f"[redacted:{self._names_by_form[match.group()]}]", text)

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets."""
        if self._bytes is None:
            return data

        def mark(match: re.Match[bytes]) -> bytes:
            name = self._names_by_form[match.group().decode("utf-8", "surrogateescape")]
            return f"[redacted:{name}]".encode()

        return self._bytes.sub(mark, data)

    @property
    def data_or_none(self) -> Callable[[bytes], bytes] | None:
        """`data`, or None if there is nothing to look for and reading a file could be saved."""
        return self.data if self.active else None
