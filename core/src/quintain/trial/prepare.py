"""Checks an order against the plugins before anything runs or is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen

from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.driver import DriverSpec, Runtime
from quintain.errors import AuthoringError, PluginError, QuintainError, RecordError, collected, raise_all
from quintain.model.case import Case
from quintain.model.codec import from_plain
from quintain.model.plain import Json, PluginUse
from quintain.model.trial import TrialOrder
from quintain.plugins import Plugins
from quintain.trial.grade import Check, Key, identity, prepare

C = TypeVar("C")

SANDBOXES = ("none", "bwrap")


@frozen
class Prepared:
    """An order with its plugins loaded and their configurations structured; shared by all repetitions.

    Attributes:
        driver: with `driver_config`, what runs the agent.
        runtime: what the driver will execute and can do.
        answerer: with `answerer_config`, who answers.
        checks: the case's grader.
        grader: identity of what grades.
        plugins: which installed code takes part.
    """

    driver: DriverSpec[Any]
    driver_config: Any
    runtime: Runtime
    answerer: AnswererSpec[Any]
    answerer_config: Any
    checks: tuple[Check, ...]
    grader: str
    plugins: tuple[PluginUse, ...]


def _of_case(case: Case, key: Key) -> str:
    return ": ".join((case.source or f"case {case.id}", ".".join(map(str, key))))


def _of_profile(profile: str, key: Key) -> str:
    return ": ".join((f"profile {profile}", ".".join(map(str, key))))


@frozen
class Places:
    """Where cases and profiles say what they say, for errors.

    Attributes:
        case: place of a key of a case.
        profile: place of a key of a profile, by its name.
    """

    case: Callable[[Case, Key], str] = _of_case
    profile: Callable[[str, Key], str] = _of_profile


def prepare_order(order: TrialOrder, plugins: Plugins, places: Places | None = None) -> Prepared:
    """Load every plugin that an order names and structure every configuration in it.

    Args:
        order: what is to run.
        plugins: where plugins come from.
        places: where it was written, for errors.

    Raises:
        PluginError: a plugin isn't there or is broken.
        AuthoringError: a configuration is wrong.
        AuthoringErrors: several such things.
    """
    places = places or Places()

    def where(key: Key, own: object) -> str:
        return places.profile(order.profile, key) if own is None else places.case(order.case, key)

    errors: list[QuintainError] = []
    with collected(errors):
        _known_sandbox(order, places)
    with collected(errors):
        driver = _found(lambda: plugins.driver(order.driver.name), where(("driver",), order.case.driver))
        driver_config = structure(
            order.driver.config, driver.config, lambda key: where(("driver", "config", *key), order.case.driver)
        )
    with collected(errors):
        answerer = _found(lambda: plugins.answerer(order.answerer.name), where(("answerer",), order.case.answerer))
        answerer_config = structure(
            order.answerer.config, answerer.config, lambda key: where(("answerer", "config", *key), order.case.answerer)
        )
    with collected(errors):
        checks = prepare(order.case.assertions, plugins, lambda key: places.case(order.case, key))
    raise_all(errors)
    uses = [plugins.use("driver", driver.name), plugins.use("answerer", answerer.name)]
    uses += [plugins.use("assertion", name) for name in sorted({check.assertion.type for check in checks})]
    grader = identity(checks, order.hidden)
    runtime = driver.runtime(driver_config)
    return Prepared(driver, driver_config, runtime, answerer, answerer_config, checks, grader, tuple(uses))


def _known_sandbox(order: TrialOrder, places: Places) -> None:
    if order.isolation.sandbox not in SANDBOXES:
        raise AuthoringError(
            f"there is no sandbox `{order.isolation.sandbox}`",
            where=places.profile(order.profile, ("isolation", "sandbox")),
            hint=f"one of {', '.join(SANDBOXES)}",
        )


def _found(find: Callable[[], C], where: str) -> C:
    try:
        return find()
    except PluginError as error:
        raise PluginError(error.message, where=where, hint=error.hint) from error


def structure(config: Mapping[str, Json], cls: type[C], where: Callable[[Key], str]) -> C:
    """A plugin's configuration from plain data.

    Args:
        config: as a file says it.
        cls: the plugin's configuration class.
        where: place of a key of it, for errors.

    Raises:
        AuthoringError: it doesn't fit.
    """
    try:
        return from_plain(config, cls)
    except RecordError as error:
        raise AuthoringError(error.message, where=where(error.path), hint=error.hint) from error
