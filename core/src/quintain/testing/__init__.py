"""For authors of plugins: a suite for each kind, and made-up things to test with. Needs pytest.

Subclass the suite of your plugin's kind in a test module; its docstring shows how.
"""

from __future__ import annotations

from quintain.testing._answerer import AnswererConformance
from quintain.testing._assertion import AssertionConformance
from quintain.testing._driver import DriverConformance
from quintain.testing._evidence import make_evidence, with_nested
from quintain.testing._records import HOSTILE, made_order, made_report, made_run, made_summary
from quintain.testing._sink import SinkConformance

__all__ = [
    "HOSTILE",
    "AnswererConformance",
    "AssertionConformance",
    "DriverConformance",
    "SinkConformance",
    "made_order",
    "made_report",
    "made_run",
    "made_summary",
    "make_evidence",
    "with_nested",
]
