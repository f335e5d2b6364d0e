"""`python -m quintain`."""

from __future__ import annotations

from quintain.cli import main

raise SystemExit(main())
