"""Checks an order against the plugins before anything runs or is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import frozen

from quintain.contracts.answerer import AnswererSpec
from quintain.contracts.driver import DriverSpec, Runtime
from quintain.errors import AuthoringError, RecordError
from quintain.model.codec import from_plain
from quintain.model.plain import Json, PluginUse
from quintain.model.trial import TrialOrder
from quintain.plugins import Plugins
from quintain.trial.grade import Check, identity, prepare

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


def prepare_order(order: TrialOrder, plugins: Plugins) -> Prepared:
    """Load every plugin that an order names and structure every configuration in it.

    Raises:
        PluginError: a plugin isn't there or is broken.
        AuthoringError: a configuration is wrong.
    """
    if order.isolation.sandbox not in SANDBOXES:
        raise AuthoringError(
            f"there is no sandbox `{order.isolation.sandbox}`",
            where=f"profile {order.profile}: isolation.sandbox",
            hint=f"one of {', '.join(SANDBOXES)}",
        )
    driver = plugins.driver(order.driver.name)
    driver_config = structure(order.driver.config, driver.config, f"profile {order.profile}: driver.config")
    answerer = plugins.answerer(order.answerer.name)
    answerer_config = structure(order.answerer.config, answerer.config, f"profile {order.profile}: answerer.config")
    checks = prepare(order.case.assertions, plugins, where=order.case.source or f"case {order.case.id}")
    uses = [plugins.use("driver", driver.name), plugins.use("answerer", answerer.name)]
    uses += [plugins.use("assertion", name) for name in sorted({check.assertion.type for check in checks})]
    grader = identity(checks, order.hidden)
    runtime = driver.runtime(driver_config)
    return Prepared(driver, driver_config, runtime, answerer, answerer_config, checks, grader, tuple(uses))


def structure(config: Mapping[str, Json], cls: type[C], where: str) -> C:
    """A plugin's configuration from plain data.

    Raises:
        AuthoringError: it doesn't fit, with the place of the key.
    """
    if isinstance(config, cls):
        return config
    try:
        return from_plain(config, cls)
    except RecordError as error:
        key = ".".join((where, *map(str, error.path)))
        raise AuthoringError(error.message, where=key, hint=error.hint) from error
