"""A project under construction."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen
from quintain.authoring import Discovered, Opened, discover, open_project
from quintain.errors import AuthoringErrors, QuintainError
from quintain.model.case import Case


@frozen
class Workshop:
    root: Path

    def write(self, path: str, content: str | bytes = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def folder(self, path: str) -> Path:
        folder = self.root / path
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def project(self) -> Opened:
        return open_project(self.root)

    def discover(self, *paths: str) -> Discovered:
        return discover([self.root / path for path in paths], self.project().project)

    def cases(self, text: str, file: str = "cases/x.case.toml") -> tuple[Case, ...]:
        self.write(file, text)
        return self.discover().cases

    def case(self, text: str) -> Case:
        (case,) = self.cases(text)
        return case

    def refused(self, text: str | bytes | None = None, file: str = "cases/x.case.toml") -> str:
        """What is said about the cases, all of it."""
        if text is not None:
            self.write(file, text)
        return said(lambda: self.discover())

    def project_refused(self, text: str | bytes) -> str:
        self.write("quintain.toml", text)
        return said(lambda: self.project())


def said(call: object) -> str:
    assert callable(call)
    with pytest.raises(QuintainError) as caught:
        call()
    errors = caught.value.errors if isinstance(caught.value, AuthoringErrors) else (caught.value,)
    assert all(error.where for error in errors)
    return str(caught.value)


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.chdir(tmp_path)
    return Workshop(tmp_path)
