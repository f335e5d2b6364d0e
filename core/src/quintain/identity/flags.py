"""Flags of `open` that keep it from following, waiting or inheriting; 0 where a system has no such thing."""

from __future__ import annotations

import os

NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
CLOSE_ON_EXEC: int = getattr(os, "O_CLOEXEC", 0)

DIRECTORY: int = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW | CLOSE_ON_EXEC
"""A directory and nothing else."""
READ: int = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | CLOSE_ON_EXEC
"""For reading, without waiting for the other end of a FIFO."""
CREATE: int = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | CLOSE_ON_EXEC
"""A file that is not there yet."""
PLACE: int = getattr(os, "O_PATH", os.O_RDONLY) | CLOSE_ON_EXEC
"""A way to what lies below or beside, without reading it."""
