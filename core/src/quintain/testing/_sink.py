"""The suite that every sink passes, ours and yours."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quintain.contracts.sink import Sink, SinkContext, SinkSpec
from quintain.errors import RecordError
from quintain.model.codec import dumps, from_plain, to_plain
from quintain.model.events import Done, Message, Traced
from quintain.model.run import RunSummary
from quintain.testing._loops import OnBothLoops
from quintain.testing._records import HOSTILE, made_order, made_report, made_run, made_summary


class SinkConformance(OnBothLoops):
    """Subclass it in a test module of your sink's package; pytest runs it on both event loops.

    ```python
    class TestMySink(SinkConformance):
        def spec(self):
            return MY_SINK
    ```
    """

    def spec(self) -> SinkSpec[Any]:
        """The sink under test."""
        raise AssertionError("override `spec`: the sink under test")

    def config(self, directory: Path) -> Any:
        """A configuration under which it works and writes below the directory."""
        return self.spec().config()

    def check(self, directory: Path, summary: RunSummary) -> None:
        """Look at what was written, after the sink was closed."""

    @asynccontextmanager
    async def opened(self, directory: Path) -> AsyncIterator[Sink]:
        """The sink of one run."""
        context = SinkContext(directory=directory, project=directory, output=io.StringIO())
        async with self.spec().open(self.config(directory), context) as sink:
            yield sink

    async def test_a_run_is_received(self, tmp_path: Path) -> None:
        reports = [made_report("a"), made_report("b", passed=False), made_report("c", infrastructure=True)]
        summary = made_summary(reports)
        async with self.opened(tmp_path) as sink:
            await sink.run_began(made_run(3))
            for report in reports:
                await sink.trial_began(made_order(report.case), 1)
                await sink.event(report.trial, Traced(1, 0.1, Message("hello")))
                await sink.event(report.trial, Traced(2, 0.2, Done("hello")))
                await sink.trial_ended(report)
            await sink.run_ended(summary)
        self.check(tmp_path, summary)

    async def test_hostile_text_is_received(self, tmp_path: Path) -> None:
        report = made_report(HOSTILE, passed=False, text=HOSTILE)
        summary = made_summary([report])
        async with self.opened(tmp_path) as sink:
            await sink.run_began(made_run(1))
            await sink.trial_began(made_order(HOSTILE), 1)
            await sink.event(report.trial, Traced(1, 0.1, Message(HOSTILE)))
            await sink.trial_ended(report)
            await sink.run_ended(summary)
        self.check(tmp_path, summary)

    async def test_trials_may_overlap(self, tmp_path: Path) -> None:
        reports = [made_report("a"), made_report("b")]
        summary = made_summary(reports)
        async with self.opened(tmp_path) as sink:
            await sink.run_began(made_run(2))
            for report in reports:
                await sink.trial_began(made_order(report.case), 1)
            for report in reversed(reports):
                await sink.trial_ended(report)
            await sink.run_ended(summary)
        self.check(tmp_path, summary)

    async def test_a_run_may_be_interrupted(self, tmp_path: Path) -> None:
        summary = made_summary([made_report("a")], planned=5, status="interrupted")
        async with self.opened(tmp_path) as sink:
            await sink.run_began(made_run(5))
            await sink.trial_began(made_order("a"), 1)
            await sink.trial_ended(made_report("a"))
            await sink.trial_began(made_order("b"), 1)
            await sink.run_ended(summary)
        self.check(tmp_path, summary)

    async def test_a_run_may_break_off(self, tmp_path: Path) -> None:
        async with self.opened(tmp_path) as sink:
            await sink.run_began(made_run(5))

    def test_configuration_is_strict(self, tmp_path: Path) -> None:
        with pytest.raises(RecordError, match="no_such_key"):
            from_plain({**to_plain(self.config(tmp_path)), "no_such_key": 1}, self.spec().config)

    def test_configuration_is_plain_data(self, tmp_path: Path) -> None:
        config = self.config(tmp_path)
        assert from_plain(json.loads(dumps(to_plain(config))), self.spec().config) == config
