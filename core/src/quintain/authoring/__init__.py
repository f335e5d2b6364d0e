"""What people write: project files, case files and datasets, read into records.

Every error names file, line and key, what was found there and what is allowed. `sources` of what was read tell the
place of any key, for errors that are found later.
"""

from __future__ import annotations

from quintain.authoring.cases import Discovered, discover
from quintain.authoring.project import (
    PROJECT_FILE,
    Opened,
    ProjectSources,
    find_project,
    load_project,
    open_project,
    profile_of,
)
from quintain.authoring.scaffold import Written, make_project
from quintain.authoring.select import select
from quintain.authoring.sources import Sources

__all__ = [
    "PROJECT_FILE",
    "Discovered",
    "Opened",
    "ProjectSources",
    "Sources",
    "Written",
    "discover",
    "find_project",
    "load_project",
    "make_project",
    "open_project",
    "profile_of",
    "select",
]
