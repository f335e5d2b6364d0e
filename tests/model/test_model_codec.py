"""The codec: whatever a record holds comes back, and what doesn't fit is refused with its place and a way out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from attrs import evolve, field, fields, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.records import EVENTS, RECORDS, json_values, of, texts
from quintain.errors import RecordError
from quintain.model import codec
from quintain.model.case import Case
from quintain.model.codec import WHOLE, dumps, from_plain, problems, to_plain
from quintain.model.events import EVENT_NAMES, Event, Log, Message, Ready, Traced
from quintain.model.grade import AssertionResult, Grade, Status
from quintain.model.limits import Limits, Retry
from quintain.model.outcome import Outcome, OutcomeKind
from quintain.model.plain import Plug
from quintain.model.trial import Attempt, StageTime, TrialOrder, TrialReport
from quintain.model.usage import Cost, CostState, Spend, Tokens


def there_and_back(record: Any, cls: Any) -> Any:
    return from_plain(json.loads(dumps(to_plain(record))), cls)


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_record_comes_back_from_json_as_it_was(cls: type) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
    @given(of(cls))
    def comes_back(record: Any) -> None:
        assert there_and_back(record, cls) == record

    comes_back()


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_every_kind_of_event_comes_back_from_a_line_of_a_trace(cls: type) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.builds(Traced, of(int), of(float), of(cls), of(bool)))
    def comes_back(traced: Traced) -> None:
        assert there_and_back(traced, Traced) == traced

    comes_back()


@settings(max_examples=200, deadline=None)
@given(of(Event))
def test_an_event_alone_comes_back_by_its_type(event: Event) -> None:
    assert there_and_back(event, Event) == event


@given(st.lists(of(Message) | of(Ready), max_size=3))
def test_events_in_a_list_keep_their_type(events: list[Event]) -> None:
    assert [from_plain(one, Event) for one in json.loads(dumps(to_plain(events)))] == events  # type: ignore[arg-type]


def test_names_of_events_are_unique_and_cover_the_union() -> None:
    assert set(EVENT_NAMES) == set(get_args(Event))
    assert len(set(EVENT_NAMES.values())) == len(EVENT_NAMES)


def test_no_event_has_a_field_that_its_type_would_hide() -> None:
    assert [cls for cls in EVENTS if any(one.name == "type" for one in fields(cls))] == []


def test_a_line_is_one_line_of_ascii() -> None:
    line = dumps(to_plain(Traced(1, 0.0, Message("a\nb\u2028c\x85d\x0be é \ud83d"))))
    assert line.isascii()
    assert len(line.splitlines()) == 1


@given(st.binary(max_size=20))
def test_bytes_that_are_no_text_survive_in_a_text(data: bytes) -> None:
    record = there_and_back(Log(data.decode("utf-8", "surrogateescape")), Log)
    assert record.text.encode("utf-8", "surrogateescape") == data


def test_a_lone_half_of_a_character_survives() -> None:
    assert there_and_back(Message("half \ud83d and \udcb2"), Message).text == "half \ud83d and \udcb2"


def test_a_path_that_is_no_text_survives() -> None:
    path = Path("fixtures/\udcff\udc80")
    assert there_and_back(Case("a", "b", fixtures=path), Case).fixtures == path


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_is_neither_written_nor_read(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps(to_plain(Message("x")) | {"detail": number})
    with pytest.raises(ValueError, match="JSON"):
        dumps(to_plain(Traced(1, 0.0, Ready(detail={"deep": [number]}))))
    with pytest.raises(RecordError, match="a finite number is wanted here"):
        from_plain({"stage": "open", "seconds": number}, StageTime)


# strictness


@frozen
class Inner:
    label: str
    numbers: tuple[int, ...] = ()


@frozen
class Config:
    """What a plugin might declare."""

    name: str
    words: tuple[str, ...] = ()
    more: list[str] = field(factory=list)
    several: Sequence[str] = ()
    unique: frozenset[str] = frozenset()
    pair: tuple[str, int] = ("a", 1)
    rows: list[Inner] = field(factory=list)
    table: Mapping[str, int] = field(factory=dict)
    loose: dict[str, Any] = field(factory=dict)
    bare: list = field(factory=list)  # type: ignore[type-arg]  # plugins may be written without types
    open: dict = field(factory=dict)  # type: ignore[type-arg]  # likewise
    flag: bool = False
    count: int = 0
    share: float = 0.0
    mode: Literal["fast", "slow"] = "fast"
    level: Literal[1, 2] = 1
    folder: Path | None = None
    inner: Inner | None = None
    either: str | tuple[str, ...] = ""
    number: int | float | None = None
    state: CostState = CostState.FREE


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("name", 3, "text is wanted here, not 3"),
        ("name", None, "text is wanted here, not None"),
        ("name", ["x"], "text is wanted here, not a list"),
        ("words", "abc", "a list is wanted here, not 'abc'"),
        ("words", {"a": 1}, "a list is wanted here, not a table"),
        ("more", "abc", "a list is wanted here, not 'abc'"),
        ("several", "abc", "a list is wanted here, not 'abc'"),
        ("unique", "abc", "a list is wanted here, not 'abc'"),
        ("bare", "abc", "a list is wanted here, not 'abc'"),
        ("pair", "ab", "a list is wanted here, not 'ab'"),
        ("pair", ["a"], "a list of 2 is wanted here, not one of 1"),
        ("table", [["a", 1]], "a table is wanted here, not a list"),
        ("loose", "a", "a table is wanted here, not 'a'"),
        ("open", [["a", 1]], "a table is wanted here, not a list"),
        ("inner", "a", "a table is wanted here, not 'a'"),
        ("flag", 1, "true or false is wanted here, not 1"),
        ("flag", "true", "true or false is wanted here, not 'true'"),
        ("flag", None, "true or false is wanted here, not None"),
        ("count", True, "a whole number is wanted here, not True"),
        ("count", 1.0, "a whole number is wanted here, not 1.0"),
        ("count", "1", "a whole number is wanted here, not '1'"),
        ("share", True, "a number is wanted here, not True"),
        ("share", "0.5", "a number is wanted here, not '0.5'"),
        ("share", math.nan, "a finite number is wanted here, not nan"),
        ("share", 10**400, "a finite number is wanted here, not a number of 1329 bits"),
        ("mode", "quick", "'quick' is none of 'fast', 'slow'"),
        ("mode", ["fast"], "a list is none of 'fast', 'slow'"),
        ("level", True, "True is none of 1, 2"),
        ("level", 1.0, "1.0 is none of 1, 2"),
        ("state", "cheap", "'cheap' is none of 'known', 'estimated', 'unknown', 'free'"),
        ("state", {}, "an empty table is none of"),
        ("folder", 3, "text is wanted here, not 3"),
        ("either", 3, "text is wanted here, not 3; or: a list is wanted here, not 3"),
        ("number", True, "a whole number is wanted here, not True; or: a number is wanted here, not True"),
    ],
)
def test_a_value_of_another_type_is_refused_in_words(key: str, value: Any, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        from_plain({"name": "x", key: value}, Config)
    assert caught.value.path == (key,)
    assert caught.value.message.startswith(says)


@pytest.mark.parametrize(
    ("key", "value", "becomes"),
    [
        ("words", ["a"], ("a",)),
        ("several", ["a"], ("a",)),
        ("unique", ["a", "a"], frozenset({"a"})),
        ("pair", ["a", 2], ("a", 2)),
        ("share", 1, 1.0),
        ("either", "a", "a"),
        ("either", ["a", "b"], ("a", "b")),
        ("number", 1, 1),
        ("number", 1.5, 1.5),
        ("number", None, None),
        ("folder", "a/b", Path("a/b")),
        ("inner", {"label": "x"}, Inner("x")),
        ("level", 2, 2),
        ("bare", [1, "a"], [1, "a"]),
        ("open", {"a": 1}, {"a": 1}),
    ],
)
def test_a_value_that_fits_becomes_what_the_field_says(key: str, value: Any, becomes: Any) -> None:
    found = getattr(from_plain({"name": "x", key: value}, Config), key)
    assert found == becomes
    assert type(found) is type(becomes)


def test_a_configuration_with_everything_in_it_comes_back() -> None:
    config = Config("x", ("a",), ["b"], ("c",), frozenset("dae"), ("e", 2), [Inner("f", (1,))], {"g": 1}, {"h": [None]})
    config = evolve(config, either=("i",), number=0.5, folder=Path("j"), inner=Inner("k"), state=CostState.KNOWN)
    assert there_and_back(config, Config) == config
    assert to_plain(config)["unique"] == ["a", "d", "e"], "in an order that is always the same"


@pytest.mark.parametrize(
    ("data", "key", "hint"),
    [
        ({"name": "x", "word": []}, "word", "did you mean `words`?"),
        ({"nmae": "x"}, "nmae", "did you mean `name`?"),
        ({"name": "x", "qqqqq": 1}, "qqqqq", "known keys: name, words, more, several, unique"),
        ({"name": "x", 7: 1}, "7", "known keys: name"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(data: Any, key: str, hint: str) -> None:
    with pytest.raises(RecordError) as caught:
        from_plain(data, Config)
    assert caught.value.message == f"unknown key `{key}`"
    assert caught.value.path == (key,)
    assert (caught.value.hint or "").startswith(hint)


def test_a_record_without_keys_says_that_it_has_none() -> None:
    from quintain.contracts.configs import NoConfig

    with pytest.raises(RecordError) as caught:
        from_plain({"anything": 1}, NoConfig)
    assert caught.value.hint == "there are no keys here"


def test_a_key_that_is_missing_is_said_of_the_record_that_lacks_it() -> None:
    with pytest.raises(RecordError) as caught:
        from_plain({"name": "x", "rows": [{"label": "a"}, {}]}, Config)
    assert caught.value.message == "`label` is missing"
    assert caught.value.path == ("rows", 1)
    assert str(caught.value) == "rows.1: `label` is missing"


def test_every_error_of_one_conversion_is_found_with_its_path() -> None:
    data = {
        "naem": "x",
        "words": ["a", 1, None],
        "rows": [{"label": "ok"}, {"lable": 1, "numbers": [1, "x", True]}],
        "table": {"a": 1, "b": "z"},
        "pair": ["a", "b"],
        "inner": {"label": 2},
        "share": 10**400,
        "mode": "quick",
        "state": "cheap",
    }
    with pytest.raises(RecordError) as caught:
        from_plain(data, Config)
    cause = caught.value.__cause__
    assert cause is not None
    found = [(one.path, one.message) for one in problems(cause, Config)]
    assert found[0] == (("naem",), "unknown key `naem`"), "the cause before what follows from it"
    assert sorted(map(str, found)) == sorted(
        map(
            str,
            [
                (("naem",), "unknown key `naem`"),
                ((), "`name` is missing"),
                (("words", 1), "text is wanted here, not 1"),
                (("words", 2), "text is wanted here, not None"),
                (("rows", 1, "lable"), "unknown key `lable`"),
                (("rows", 1), "`label` is missing"),
                (("rows", 1, "numbers", 1), "a whole number is wanted here, not 'x'"),
                (("rows", 1, "numbers", 2), "a whole number is wanted here, not True"),
                (("table", "b"), "a whole number is wanted here, not 'z'"),
                (("pair", 1), "a whole number is wanted here, not 'b'"),
                (("inner", "label"), "text is wanted here, not 2"),
                (("share",), "a finite number is wanted here, not a number of 1329 bits"),
                (("mode",), "'quick' is none of 'fast', 'slow'"),
                (("state",), "'cheap' is none of 'known', 'estimated', 'unknown', 'free'"),
            ],
        )
    )


def test_what_a_records_own_validator_says_keeps_its_place() -> None:
    with pytest.raises(RecordError) as caught:
        from_plain({"id": "a", "prompt": "b", "assertions": [{"type": "x", "weight": -1}]}, Case)
    assert caught.value.path == ("assertions", 0, "weight")
    assert caught.value.message == "a number above 0 is wanted here, not -1.0"


def test_a_lookup_that_fails_inside_a_validator_is_not_told_as_a_missing_key() -> None:
    def looks_up(_: object, __: object, value: str) -> None:
        raise KeyError("colour")

    @frozen
    class Picky:
        name: str = field(validator=looks_up)

    with pytest.raises(RecordError) as caught:
        from_plain({"name": "x"}, Picky)
    assert "missing" not in caught.value.message


@pytest.mark.parametrize("data", [None, 3, "x", [], [("seq", 1)], {"seq": 1, "at_s": 0.0, "event": {}}, {"seq": 1}])
def test_what_is_no_line_of_a_trace_is_refused(data: Any) -> None:
    with pytest.raises(RecordError):
        from_plain(data, Traced)


@pytest.mark.parametrize("type", ["mesage", "", 3, None, ["ready"]])
def test_an_event_of_no_known_type_is_refused(type: Any) -> None:
    with pytest.raises(RecordError):
        from_plain({"type": type, "text": "x"}, Event)  # type: ignore[arg-type]


@given(json_values, st.sampled_from([Traced, Case, TrialOrder, TrialReport, Config, Limits]))
def test_no_plain_data_makes_anything_but_a_record_or_an_error(data: Any, cls: type) -> None:
    try:
        from_plain(data, cls)
    except RecordError as error:
        assert error.message


@given(of(TrialReport), st.data())
@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
def test_one_value_in_the_wrong_place_is_refused_or_harmless(report: TrialReport, data: st.DataObject) -> None:
    """Damage anywhere in a stored report is an error of ours in words, never another exception."""
    plain = json.loads(dumps(to_plain(report)))
    place: Any = plain
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(json_values)
        break
    try:
        from_plain(plain, TrialReport)
    except RecordError as error:
        assert error.message


def test_an_error_quotes_a_huge_value_only_in_part() -> None:
    with pytest.raises(RecordError) as caught:
        from_plain({"name": "x", "count": "9" * 1_000_000}, Config)
    assert len(str(caught.value)) < 200
    assert "1000000 in all" in caught.value.message


@given(texts, st.lists(texts, max_size=2), json_values)
def test_plain_data_inside_a_record_stays_as_it_is(name: str, words: list[str], value: Any) -> None:
    plug = Plug(name, {"words": words, "value": value})
    assert there_and_back(plug, Plug) == plug


# what is left out


def test_what_equals_its_default_is_left_out_of_evidence() -> None:
    assert to_plain(Message("x")) == {"type": "message", "text": "x"}
    assert to_plain(Outcome(OutcomeKind.COMPLETED)) == {"kind": "completed"}


@pytest.mark.parametrize("cls", WHOLE, ids=lambda cls: cls.__name__)
@given(st.data())
@settings(max_examples=10)
def test_records_of_choices_that_may_be_tuned_are_written_whole(cls: type, data: st.DataObject) -> None:
    """A default that is another one day must not change what a stored order or campaign meant."""
    assert set(to_plain(data.draw(of(cls)))) == {one.name for one in fields(cls)}


def test_a_retry_that_states_less_than_the_default_comes_back_as_it_is() -> None:
    retry = Retry(base_s={"disk": 1.0})
    assert there_and_back(retry, Retry) == retry


def test_numbers_are_written_so_that_they_come_back_exactly() -> None:
    spend = Spend(Tokens(input=10**15 + 1), Cost.known(0.1 + 0.2))
    assert there_and_back(spend, Spend) == spend


def test_a_grade_and_a_report_are_plain_json() -> None:
    result = AssertionResult("a", "x", Status.PASS, 1.0, "ok", detail={"seen": [1, None, "é"]})
    attempt = Attempt(1, Outcome(OutcomeKind.COMPLETED), "2026-01-02T03:04:05Z", 1.5)
    grade = Grade(True, 1.0, (result,))
    report = TrialReport("a@p#1", "a", "p", "baseline", 1, Outcome(OutcomeKind.COMPLETED), grade, (attempt,))
    assert there_and_back(report, TrialReport) == report
    assert json.loads(dumps(to_plain(report)))["grade"]["results"][0]["status"] == "pass"


def test_copies_of_the_converter_take_hooks_without_a_trace_in_the_original() -> None:
    mine = codec.converter.copy()
    mine.register_structure_hook(Plug, lambda value, _: Plug(str(value)))
    assert mine.structure("x", Plug) == Plug("x")
    with pytest.raises(RecordError):
        from_plain("x", Plug)
