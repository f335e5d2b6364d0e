"""Where things lie, and what is secret, is nobody's business: both give way to names before anything is compared."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from quintain.model.plain import Json
from quintain.redaction import SHORTEST, Redactor

_BEFORE = r"(?<![\w./-])"
_AFTER = r"(?=[/:;,\s\"']|$)"


@frozen
class Anchors:
    """Names for places.

    Attributes:
        whole: names for texts that are nothing but a path.
        begin: names for directories, wherever a path in a text begins with one.
        redactor: takes out secrets.
    """

    whole: Mapping[str, str]
    begin: Mapping[str, str]
    redactor: Redactor = field(factory=Redactor)

    @classmethod
    def of(cls, root: Path | None) -> Anchors:
        """Those that hold everywhere: the project's folder and the Python that runs Quintain."""
        return cls({sys.executable: "{python}"}, {str(root): "{project}"} if root is not None else {})

    def also(self, whole: Mapping[str, str]) -> Anchors:
        """These and more names for whole texts."""
        return evolve(self, whole={**self.whole, **whole})

    def hiding(self, secrets: Mapping[str, str]) -> Anchors:
        """These, and names for secrets that are long enough to be told from ordinary text."""
        return evolve(self, redactor=Redactor.of({n: v for n, v in secrets.items() if len(v.strip()) >= SHORTEST}))

    def free(self, data: Json) -> Json:
        """Plain data with names in the place of paths and secrets."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {name: self.free(value) for name, value in data.items()}
        if isinstance(data, list | tuple):
            return [self.free(one) for one in data]
        return data

    def text(self, text: str) -> str:
        """One text, likewise."""
        if text in self.whole:
            return self.whole[text]
        text = self.redactor.text(text)
        for path in sorted(self.begin, key=len, reverse=True):
            if path in text:
                text = re.sub(_BEFORE + re.escape(path) + _AFTER, self.begin[path], text)
        return text
