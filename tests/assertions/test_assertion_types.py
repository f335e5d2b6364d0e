"""Every type of assertion under the suite that third parties use: passing, failing, strange evidence, strictness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import frozen
from quintain import (
    Answer,
    Answered,
    Asked,
    AssertionSpec,
    Cost,
    Message,
    OutcomeKind,
    Plugins,
    ProtocolError,
    Question,
    Ready,
    Tokens,
    ToolCall,
    ToolResult,
    Usage,
    Used,
)
from quintain.model.trial import Counts
from quintain.testing import AssertionConformance, make_evidence
from quintain_assertions import SPECS

Config = Mapping[str, Any]


@frozen
class Sample:
    """A configuration and evidence on which an assertion passes, and on which it fails."""

    config: Config
    passing: Any
    failing: Any


def files(**contents: str) -> Any:
    return make_evidence(files={name.replace("__", "."): text.encode() for name, text in contents.items()})


def tools(*calls: tuple[str, Any, bool]) -> Any:
    events: list[Any] = []
    for number, (name, given, error) in enumerate(calls):
        events += [ToolCall(str(number), name, given), ToolResult(str(number), name, "text", error=error)]
    return make_evidence(events=events)


KEPT = {"a.txt": b"one\n", "b.txt": b"two\n"}
EDITED = make_evidence(baseline=KEPT, files={"a.txt": b"changed\n", "b.txt": b"two\n"})
DELETED = make_evidence(baseline=KEPT, files={"b.txt": b"two\n"})
SAID = make_evidence(events=[Message("first"), Message("it is Blue")])
SPENT = make_evidence(events=[Used(Usage(Tokens(input=100, output=20), Cost.known(0.5), id="1"))])
REFUSED = (
    Asked(Question("q", "approve", "rm?", payload={"input": {"c": "rm"}})),
    Answered(Answer("q", "approve", approved=False), "deny", 0.1),
)
NESTED = [{"type": "file_exists", "path": "a.txt"}, {"type": "file_exists", "path": "b.txt"}]

SERVER = make_evidence(
    events=[
        Ready(
            detail={
                "mcp": {"server": {"name": "files"}, "capabilities": {}, "tools": [{"name": "read"}, {"name": "write"}]}
            }
        )
    ]
)
OTHER = make_evidence(
    events=[Ready(detail={"mcp": {"server": {"name": "x"}, "capabilities": {"prompts": {}}, "tools": []}})]
)

SAMPLES: dict[str, Sample] = {
    "file_exists": Sample({"path": "a.txt"}, files(a__txt="x"), make_evidence()),
    "file_absent": Sample({"path": "a.txt"}, make_evidence(), files(a__txt="x")),
    "file_contains": Sample({"path": "a.txt", "text": "needle"}, files(a__txt="a needle"), files(a__txt="hay")),
    "file_lacks": Sample({"path": "a.txt", "text": "needle"}, files(a__txt="hay"), files(a__txt="a needle")),
    "file_matches": Sample(
        {"path": "a.txt", "pattern": "^x+$", "min": 2}, files(a__txt="x\nxx\n"), files(a__txt="x\n")
    ),
    "file_changed": Sample({"path": "a.txt"}, EDITED, make_evidence(baseline=KEPT, files=KEPT)),
    "file_unchanged": Sample({"path": "a.txt"}, make_evidence(baseline=KEPT, files=KEPT), EDITED),
    "file_content_kept": Sample({"path": "a.txt"}, make_evidence(baseline=KEPT, files=KEPT), DELETED),
    "changed_only": Sample({"paths": ["a.*"]}, EDITED, make_evidence(baseline=KEPT, files={})),
    "changed_bytes": Sample({"max": 10}, EDITED, files(a__txt="x" * 100)),
    "glob_count": Sample({"pattern": "**/*.txt", "min": 2}, files(a__txt="", b__txt=""), files(a__txt="")),
    "json_value": Sample(
        {"path": "a.json", "pointer": "/x/0", "equals": 1}, files(a__json='{"x": [1]}'), files(a__json='{"x": [true]}')
    ),
    "yaml_value": Sample(
        {"path": "a.yaml", "pointer": "/x", "contains": "b"}, files(a__yaml="x: abc"), files(a__yaml="x: [")
    ),
    "toml_value": Sample(
        {"path": "a.toml", "pointer": "/x", "exists": True}, files(a__toml="x = 1"), files(a__toml="y = 1")
    ),
    "json_schema": Sample({"path": "a.json", "schema": {"type": "array"}}, files(a__json="[]"), files(a__json="{}")),
    "answer_contains": Sample({"text": "blue", "ignore_case": True}, SAID, make_evidence(answer="red")),
    "answer_lacks": Sample({"text": "red"}, SAID, make_evidence(answer="red")),
    "answer_matches": Sample({"pattern": "first", "against": "messages"}, SAID, make_evidence(answer="red")),
    "answer_equals": Sample({"text": "it is Blue"}, SAID, make_evidence(answer="red")),
    "tool_called": Sample(
        {"name": "shell", "pointer": "/c", "contains": "ls", "result": "success"},
        tools(("shell", {"c": "ls -l"}, False)),
        tools(("shell", {"c": "ls -l"}, True)),
    ),
    "tool_order": Sample(
        {"names": ["read", "write"]},
        tools(("read", 1, False), ("x", 1, False), ("write", 1, False)),
        tools(("write", 1, False), ("read", 1, False)),
    ),
    "tool_result": Sample(
        {"name": "shell", "occurrence": "last", "error": False},
        tools(("shell", 1, True), ("shell", 1, False)),
        tools(("shell", 1, False), ("shell", 1, True)),
    ),
    "mcp_server": Sample({"name": "files"}, SERVER, OTHER),
    "mcp_tool_listed": Sample({"name": "read"}, SERVER, OTHER),
    "mcp_tool_count": Sample({"min": 2}, SERVER, OTHER),
    "mcp_capability_absent": Sample({"capability": "prompts"}, SERVER, OTHER),
    "no_tool_errors": Sample({}, tools(("shell", 1, False)), tools(("shell", 1, True))),
    "question_count": Sample(
        {"kind": "ask", "max": 1},
        make_evidence(events=[Asked(Question("1", "ask"))]),
        make_evidence(events=[Asked(Question("1", "ask")), Asked(Question("2", "ask"))]),
    ),
    "refusals_kept": Sample(
        {},
        make_evidence(events=REFUSED),
        make_evidence(events=[*REFUSED, ToolCall("1", "shell", {"c": "rm"}), ToolResult("1")]),
    ),
    "duration": Sample({"max": 2}, make_evidence(duration_s=1), make_evidence(duration_s=3)),
    "tokens": Sample({"max": 120}, SPENT, make_evidence(events=[Used(Usage(Tokens(input=121), id="1"))])),
    "cost": Sample({"max_usd": 0.5}, SPENT, make_evidence(events=[Used(Usage(Tokens(), Cost.known(0.6), id="1"))])),
    "outcome": Sample({"kinds": ["completed"]}, make_evidence(), make_evidence(outcome=OutcomeKind.TIMED_OUT)),
    "protocol_clean": Sample(
        {}, make_evidence(), make_evidence(events=[ProtocolError("x")], counts=Counts(protocol_errors=1))
    ),
    "command": Sample(
        {"argv": ["cat", "a.txt"], "stdout_contains": "one"}, make_evidence(files=KEPT), files(a__txt="two")
    ),
    "all_of": Sample({"assertions": NESTED}, make_evidence(files=KEPT), files(a__txt="")),
    "any_of": Sample({"assertions": NESTED}, files(a__txt=""), make_evidence()),
    "at_least": Sample({"n": 2, "assertions": NESTED}, make_evidence(files=KEPT), files(a__txt="")),
    "not": Sample({"assertion": NESTED[0]}, make_evidence(), files(a__txt="")),
}


def test_every_type_has_a_sample() -> None:
    assert {spec.name for spec in SPECS} == set(SAMPLES)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
class TestEveryType(AssertionConformance):
    """The suite takes no parameter, so the type comes in by a fixture."""

    @pytest.fixture(autouse=True)
    def _one(self, spec: AssertionSpec[Any]) -> None:
        self._spec = spec

    def spec(self) -> AssertionSpec[Any]:
        return self._spec

    def plugins(self) -> Plugins:
        return Plugins.of(*SPECS)

    def passing(self) -> list[tuple[Config, Any]]:
        sample = SAMPLES[self._spec.name]
        return [(sample.config, sample.passing)]

    def failing(self) -> list[tuple[Config, Any]]:
        sample = SAMPLES[self._spec.name]
        return [(sample.config, sample.failing)]
