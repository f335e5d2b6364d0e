"""What third parties build on: assertions of functions, assertions of tables, bound drivers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st
from quintain import Bound, DriverSpec, Evidence, NoConfig, Verdict, assertion_from_table, check, of_type
from quintain.contracts.assertion import Checked
from quintain.contracts.driver import IdentityContext, Runtime
from quintain.errors import RecordError
from quintain.model.bounds import above_zero
from quintain.model.case import Assertion
from quintain.model.events import Message, Reasoning, ToolCall, Traced
from quintain.model.grade import Status

EVIDENCE = cast(Evidence, object())


def evaluated(assertion: Assertion) -> Any:
    """What its function says of the evidence, waited for if need be."""
    assert isinstance(assertion, Checked)
    assert assertion.spec is not None
    found = assertion.spec.evaluate(NoConfig(), EVIDENCE)
    if isinstance(found, Verdict):
        return found

    async def wait() -> Any:
        return await cast(Any, found)

    return anyio.run(wait)


# assertions of functions


def test_a_function_is_an_assertion_under_its_name() -> None:
    def tidy(evidence: Evidence) -> bool:
        """Nothing lies about.

        More.
        """
        return True

    assertion = check(tidy)
    assert (assertion.type, assertion.id, assertion.required, assertion.weight) == ("tidy", "tidy", True, 1.0)
    assert isinstance(assertion, Checked)
    assert assertion.spec is not None
    assert assertion.spec.summary == "Nothing lies about."
    assert assertion.spec.quick, "a plain function is called in the event loop"
    assert evaluated(assertion) == Verdict(Status.PASS, "tidy returned True")


def test_what_is_said_of_an_assertion_of_a_function_stands() -> None:
    assertion = check(lambda evidence: False, id="mine", required=False, weight=0.5)
    assert (assertion.id, assertion.required, assertion.weight) == ("mine", False, 0.5)
    assert evaluated(assertion).status is Status.FAIL


def test_a_function_may_take_its_time_and_give_a_verdict_of_its_own() -> None:
    async def slow(evidence: Evidence) -> Verdict:
        await anyio.lowlevel.checkpoint()
        return Verdict.abstain("nothing to say")

    assertion = check(slow)
    assert isinstance(assertion, Checked)
    assert assertion.spec is not None
    assert not assertion.spec.quick
    assert evaluated(assertion) == Verdict.abstain("nothing to say")


def test_an_object_that_can_be_called_is_named_by_its_class() -> None:
    class Tidy:
        def __call__(self, evidence: Evidence) -> bool:
            return True

    assert check(Tidy()).type == "Tidy"


def test_a_plain_function_that_returns_something_to_wait_for_is_told_how_to_be_declared() -> None:
    async def later() -> bool:
        return True

    with pytest.raises(TypeError, match="declare it with `async def`"):
        evaluated(check(lambda evidence: later()))


def test_an_assertion_of_a_function_out_of_bounds_is_refused_where_it_is_made() -> None:
    with pytest.raises(RecordError, match="a number above 0 is wanted here, not 0"):
        check(lambda evidence: True, weight=0)


# assertions of tables


def test_in_a_table_the_plugins_keys_stand_beside_those_of_every_assertion() -> None:
    table = {"type": "command", "argv": ["true"], "id": "t", "required": False, "weight": 2, "timeout_s": 5}
    assert assertion_from_table(table) == Assertion("command", {"argv": ["true"], "timeout_s": 5}, "t", False, 2.0)


@given(
    st.dictionaries(
        st.text(max_size=5).filter(lambda key: key not in ("type", "id", "required", "weight")), st.integers()
    )
)
def test_every_other_key_configures_the_plugin(config: dict[str, int]) -> None:
    assert assertion_from_table({"type": "x", **config}) == Assertion("x", config)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, "`type` is missing"),
        ({"type": 3}, "type: text is wanted here, not 3"),
        ({"type": "x", "weight": -1}, "weight: a number above 0 is wanted here, not -1.0"),
        ({"type": "x", "required": "yes"}, "required: true or false is wanted here, not 'yes'"),
        ("command", "a table with a `type` is wanted here, not 'command'"),
        (None, "a table with a `type` is wanted here, not None"),
        ([{"type": "x"}], "a table with a `type` is wanted here, not a list"),
    ],
)
def test_a_table_that_is_no_assertion_is_refused_in_words(table: Any, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        assertion_from_table(table)
    assert str(caught.value) == says


# the trace


def test_events_are_picked_from_a_trace_by_their_kinds() -> None:
    trace = [Traced(1, 0.0, Message("a")), Traced(2, 0.1, ToolCall("1", "sh")), Traced(3, 0.2, Reasoning("b"))]
    assert [line.seq for line in of_type(trace, Message, Reasoning)] == [1, 3]
    assert list(of_type(trace)) == []


# drivers


@frozen
class Settings:
    model: str = "small"
    effort: float = field(default=1.0, validator=above_zero)


@asynccontextmanager
async def opened(config: object, launch: object) -> AsyncIterator[Any]:
    yield None


DRIVER = DriverSpec("mine", opened, Settings)


def test_a_driver_is_bound_to_its_configuration_by_calling_it() -> None:
    assert DRIVER(model="large") == Bound(DRIVER, Settings("large"))
    assert DRIVER(Settings("large")) == Bound(DRIVER, Settings("large"))
    assert DRIVER() == Bound(DRIVER, Settings())


def test_a_driver_without_a_configuration_takes_none() -> None:
    plain = DriverSpec("plain", opened)
    assert plain() == Bound(plain, NoConfig())
    with pytest.raises(TypeError):
        plain(model="large")


def test_a_driver_refuses_a_configuration_out_of_bounds_where_it_is_bound() -> None:
    with pytest.raises(RecordError, match="effort"):
        DRIVER(effort=0)


def test_a_driver_that_says_nothing_more_can_do_nothing_and_demands_nothing() -> None:
    config = Settings()
    assert DRIVER.runtime(config) == Runtime()
    assert DRIVER.experiment.prepare(config) is config
    assert anyio.run(DRIVER.experiment.identity, config, cast(IdentityContext, None)) == {}
