"""What an assertion refuses to claim: nothing to check, nothing known, nothing decidable."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from quintain import Plugins, Status, Verdict
from quintain.errors import AuthoringError
from quintain.testing import make_evidence, with_nested
from quintain.trial.grade import evaluate
from quintain_assertions import SPECS
from quintain_assertions._data import resolve

pytestmark = pytest.mark.anyio
BY_NAME = {spec.name: spec for spec in SPECS}


async def judged(name: str, config: Mapping[str, Any], evidence: Any) -> tuple[Verdict, str | None]:
    check, ready = with_nested(evidence, BY_NAME[name], config, Plugins.of(*SPECS))
    return await evaluate(check, ready, 30)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("answer_lacks", {"text": "x"}),
        ("answer_contains", {"text": "x"}),
        ("no_tool_errors", {}),
        ("tool_called", {"name": "x", "max": 0}),
        ("changed_only", {"paths": ["*"]}),
        ("file_unchanged", {"path": "a.txt"}),
        ("refusals_kept", {}),
    ],
)
async def test_where_there_is_nothing_to_check_it_fails_and_says_so(name: str, config: Mapping[str, Any]) -> None:
    verdict, _ = await judged(name, config, make_evidence())
    assert verdict.status is Status.FAIL
    assert "nothing to check" in verdict.reason


@pytest.mark.parametrize(("name", "config"), [("tokens", {"max": 10}), ("cost", {"max_usd": 1})])
async def test_unknown_spend_is_no_pass_and_no_fail(name: str, config: Mapping[str, Any]) -> None:
    assert (await judged(name, config, make_evidence()))[0].status is Status.ABSTAIN
    assert (await judged(name, {**config, "unknown": "fail"}, make_evidence()))[0].status is Status.FAIL


@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("file_matches", {"path": "a", "pattern": "("}, "no regular expression"),
        ("file_matches", {"path": "a", "pattern": "x", "min": 3, "max": 2}, "exceeds"),
        ("file_contains", {"path": "a", "text": ""}, "hold for everything"),
        ("glob_count", {"pattern": "*"}, "give `min`, `max` or both"),
        ("glob_count", {"pattern": "*", "min": 0}, "hold for everything"),
        ("command", {}, "not both"),
        ("command", {"argv": ["x"], "shell": "x"}, "not both"),
        ("json_value", {"path": "a", "pointer": "x", "exists": True}, "begins with a slash"),
        ("json_value", {"path": "a"}, "give one of"),
        ("json_schema", {"path": "a", "schema": {"type": "nope"}}, "no JSON Schema"),
        ("tool_order", {"names": ["one"]}, "at least two"),
        ("at_least", {"n": 3, "assertions": [{"type": "file_exists", "path": "a"}]}, "1 to 1"),
        ("all_of", {"assertions": [{"type": "file_exists", "pth": "a"}]}, "did you mean `path`"),
        ("cost", {"max_usd": -1}, "can't be negative"),
    ],
)
async def test_what_can_not_be_meant_is_refused_before_anything_runs(name: str, config: Any, words: str) -> None:
    with pytest.raises(AuthoringError, match=words.replace("(", r"\(")):
        await judged(name, config, make_evidence())


async def test_a_pattern_that_never_ends_abstains_and_leaves_others_alone() -> None:
    evidence = make_evidence(files={"a.txt": b"a" * 64 + b"b"})
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.05)
            ticks += 1

    began = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        verdict, error = await judged("file_matches", {"path": "a.txt", "pattern": r"^(a|aa)+$"}, evidence)
        group.cancel_scope.cancel()
    assert verdict.status is Status.ABSTAIN
    assert error is not None
    assert "took longer" in error
    assert time.monotonic() - began < 25
    assert ticks > 3


async def test_a_file_that_was_not_kept_can_not_be_judged() -> None:
    evidence = make_evidence(files={"a.txt": b"x"})
    (entry,) = [entry for path, entry in evidence.files.entries.items()]  # type: ignore[attr-defined]
    from quintain.model.tree import Change, ChangeSet, Tree
    from quintain.workspace.evidence import Files

    gone = ChangeSet((Change("a.txt", "added", after=evolve(entry, digest=None, omitted="too large")),))
    lost = evolve(evidence, files=Files(Tree(), gone, evidence.blobs))  # type: ignore[type-var, attr-defined]
    verdict, _ = await judged("file_contains", {"path": "a.txt", "text": "x"}, lost)
    assert verdict.status is Status.ABSTAIN
    assert "too large" in verdict.reason


async def test_a_command_sees_hidden_fixtures_and_leaves_nothing_behind() -> None:
    evidence = make_evidence(
        files={"work.py": b"VALUE = 2\n"}, hidden={"check.py": b"import work; print(work.VALUE); open('x', 'w')"}
    )
    config = {"argv": ["python3", "check.py"], "stdout_equals": "2\n"}
    assert (await judged("command", config, evidence))[0].status is Status.PASS
    assert (await judged("command", {"shell": "ls; test ! -e x"}, evidence))[0].status is Status.PASS


async def test_the_end_of_a_commands_output_explains_its_failure() -> None:
    shell = "seq 1 5000; echo the real reason >&2; exit 3"
    verdict, _ = await judged("command", {"shell": shell}, make_evidence())
    assert verdict.status is Status.FAIL
    assert "exit status 3" in verdict.reason
    assert "the real reason" in verdict.reason


async def test_a_command_that_overruns_fails_and_says_so() -> None:
    verdict, _ = await judged("command", {"shell": "sleep 60", "timeout_s": 0.3}, make_evidence())
    assert verdict.status is Status.FAIL
    assert "still running after 0.3 s" in verdict.reason


STATUS = st.sampled_from([("file_exists", "a"), ("file_exists", "none"), ("cost", "")])


def table(kind: str, path: str) -> dict[str, Any]:
    return {"type": kind, "path": path} if kind == "file_exists" else {"type": "cost", "max_usd": 1.0}


@given(st.lists(STATUS, min_size=1, max_size=4))
def test_composition_is_three_valued_logic(parts: list[tuple[str, str]]) -> None:
    evidence = make_evidence(files={"a": b""})
    tables = [table(*part) for part in parts]

    async def all_three() -> tuple[list[Status], Status, Status, Status]:
        each = [
            (await judged(one["type"], {k: v for k, v in one.items() if k != "type"}, evidence))[0].status
            for one in tables
        ]
        both = (await judged("all_of", {"assertions": tables}, evidence))[0].status
        either = (await judged("any_of", {"assertions": tables}, evidence))[0].status
        negated = [{"type": "not", "assertion": one} for one in tables]
        by_law = (await judged("not", {"assertion": {"type": "all_of", "assertions": negated}}, evidence))[0].status
        return each, both, either, by_law

    each, both, either, by_law = anyio.run(all_three)
    rank = {Status.FAIL: 0, Status.ABSTAIN: 1, Status.PASS: 2}
    assert rank[both] == min(rank[one] for one in each)
    assert rank[either] == max(rank[one] for one in each)
    assert by_law == either


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def pointers(data: Any, pointer: str = "") -> list[tuple[str, Any]]:
    found = [(pointer, data)]
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += pointers(value, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


@given(PLAIN)
def test_a_pointer_finds_every_part_of_a_document(data: Any) -> None:
    for pointer, value in pointers(data):
        assert resolve(data, pointer) is value
