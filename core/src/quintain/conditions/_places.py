"""Where things lie is nobody's business: paths in configurations give way to names before anything is compared."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from quintain.model.plain import Json

_BEFORE = r"(?<![\w./-])"
_AFTER = r"(?=[/:;,\s\"']|$)"


@frozen
class Anchors:
    """Names for places.

    Attributes:
        whole: names for texts that are nothing but a path.
        begin: names for directories, wherever a path in a text begins with one.
    """

    whole: Mapping[str, str]
    begin: Mapping[str, str]

    @classmethod
    def of(cls, root: Path | None) -> Anchors:
        """Those that hold everywhere: the project's folder and the Python that runs Quintain."""
        return cls({sys.executable: "{python}"}, {str(root): "{project}"} if root is not None else {})

    def also(self, whole: Mapping[str, str]) -> Anchors:
        """These and more names for whole texts."""
        return Anchors({**self.whole, **whole}, self.begin)

    def free(self, data: Json) -> Json:
        """Plain data with names in the place of paths."""
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
        for path in sorted(self.begin, key=len, reverse=True):
            if path in text:
                text = re.sub(_BEFORE + re.escape(path) + _AFTER, self.begin[path], text)
        return text
