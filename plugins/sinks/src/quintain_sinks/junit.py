"""JUnit XML, which CI systems read: one suite a profile, one case a trial.

A trial that failed is a `failure`, one of which nothing is known an `error`, one that nothing decides is `skipped`; so the
counts say what the exit code says. Trials that never began are counted as errors of their suite.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

from attrs import frozen
from quintain import RunSummary, Sink, SinkContext, SinkSpec, TrialReport, hookimpl

from quintain_sinks._text import reasons, state

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ANSWER = 4000
"""Characters of the agent's answer that are kept."""


@frozen
class JunitConfig:
    """`path` of the file, in the run's directory if not given."""

    path: Path | None = None


def xml_text(text: str) -> str:
    """The text with what XML can't hold made visible."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class _Junit(Sink):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._suites: dict[str, ElementTree.Element] = {}

    def _suite(self, profile: str) -> ElementTree.Element:
        if profile not in self._suites:
            self._suites[profile] = ElementTree.Element("testsuite", name=xml_text(profile))
        return self._suites[profile]

    async def trial_ended(self, report: TrialReport) -> None:
        folder, _, name = report.case.rpartition("/")
        case = ElementTree.SubElement(
            self._suite(report.profile),
            "testcase",
            classname=xml_text(folder or report.profile),
            name=xml_text(f"{name} #{report.repetition}"),
            time=f"{report.duration_s:.3f}",
        )
        how, why = state(report), reasons(report)
        if how != "passed":
            tag = {"failed": "failure", "missing": "error", "ungraded": "skipped"}[how]
            message = xml_text(why[0] if why else "no assertion decides")
            problem = ElementTree.SubElement(case, tag, message=message, type=report.outcome.kind.value)
            problem.text = xml_text("\n".join(why))
        if report.last.answer:
            ElementTree.SubElement(case, "system-out").text = xml_text(report.last.answer[:ANSWER])

    async def run_ended(self, summary: RunSummary) -> None:
        for one in summary.cases:
            suite = self._suite(one.profile)
            for number in range(one.tally.not_started):
                case = ElementTree.SubElement(
                    suite,
                    "testcase",
                    classname=xml_text(one.profile),
                    name=xml_text(f"{one.case} (not started {number + 1})"),
                )
                ElementTree.SubElement(
                    case, "error", message=xml_text(summary.reason or summary.status), type="not_started"
                )
        root = ElementTree.Element("testsuites", name=xml_text(summary.run.id), time=f"{summary.duration_s:.3f}")
        for suite in self._suites.values():
            for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
                suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
            suite.set("tests", str(len(suite)))
            root.append(suite)
        for name in ("tests", "failures", "errors", "skipped"):
            root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
        _replace(self._path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _replace(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@asynccontextmanager
async def _open(config: JunitConfig, context: SinkContext) -> AsyncIterator[Sink]:
    yield _Junit(context.project / config.path if config.path is not None else context.directory / "junit.xml")


junit = SinkSpec("junit", _open, JunitConfig, summary="Writes JUnit XML for CI systems.")


@hookimpl
def quintain_sink() -> SinkSpec[JunitConfig]:
    """Declare `junit`."""
    return junit
