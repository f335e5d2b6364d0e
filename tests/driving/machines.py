"""What tests of drivers' identities share: digests without a cache, and files of a made-up machine."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest_of_file(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_of_tree(path: Path) -> str:
    """Digest of a directory's files with their names."""
    parts = [(str(one.relative_to(path)), digest_of_file(one)) for one in sorted(path.rglob("*")) if one.is_file()]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def write(path: Path, text: str, *, runs: bool = False) -> Path:
    """Write a file, with the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if runs:
        path.chmod(0o755)
    return path
