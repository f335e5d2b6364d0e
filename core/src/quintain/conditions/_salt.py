"""Values that may be secret are stored as digests that mean nothing outside their project."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from quintain.errors import StoreError
from quintain.identity.flags import CREATE

SALT_BYTES = 32


def project_salt(store: Path) -> bytes:
    """The salt of a project, made at first use and kept in its store, readable for its owner alone.

    Raises:
        StoreError: it can't be read or written.
    """
    path = store / "salt"
    try:
        if not path.exists():
            _make(path)
        salt = path.read_bytes()
    except OSError as error:
        raise StoreError(f"the project's salt can't be kept: {error.strerror}", where=str(path)) from error
    if len(salt) != SALT_BYTES:
        raise StoreError(
            f"the project's salt has {len(salt)} bytes instead of {SALT_BYTES}",
            where=str(path),
            hint="delete it; results whose profiles set variables then can't be compared with older ones",
        )
    return salt


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".salt.{secrets.token_hex(8)}")
    fd = os.open(beside, CREATE, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(SALT_BYTES))
        # A link fails if another process was first, and then its salt is the project's.
        os.link(beside, path)
    except FileExistsError:
        pass
    finally:
        beside.unlink()


def salted(salt: bytes, name: str, value: str) -> str:
    """A digest of a variable's value; it says which salt it was made with, so that two of them are not compared."""
    told = hashlib.sha256(salt).hexdigest()[:8]
    data = f"{name}\0{value}".encode("utf-8", "surrogatepass")
    return f"hmac-sha256:{told}:{hmac.new(salt, data, hashlib.sha256).hexdigest()}"
