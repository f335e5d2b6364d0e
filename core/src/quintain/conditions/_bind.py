"""Drivers refuse what could not be reproduced, and bind what can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from attrs import evolve

from quintain.conditions._parts import TemplateLike
from quintain.errors import PolicyViolation, QuintainError, raise_all
from quintain.model.codec import to_plain
from quintain.model.plain import Plug
from quintain.trial.prepare import Places

T = TypeVar("T", bound=TemplateLike)


def bound(templates: Sequence[T], places: Places | None = None) -> tuple[T, ...]:
    """The templates with every driver's configuration as its `experiment.prepare` wants it.

    Orders and what is prepared change alike, so what is recorded is what runs. Binding twice changes nothing more.

    Args:
        templates: attrs records with an order and what was prepared for it.
        places: where cases and profiles were written, for errors.

    Raises:
        PolicyViolation: a driver refuses a configuration; `where` leads to its key.
        AuthoringErrors: several of them.
    """
    places = places or Places()
    errors: list[QuintainError] = []
    found = []
    for template in templates:
        try:
            found.append(_bound(template))
        except PolicyViolation as error:
            order = template.order
            key = ("driver", "config", *(error.where.split(".") if error.where else ()))
            where = places.profile(order.profile, key) if order.case.driver is None else places.case(order.case, key)
            errors.append(PolicyViolation(error.message, where=where, hint=error.hint))
    raise_all(errors)
    return tuple(found)


def _bound(template: T) -> T:
    order, prepared = template.order, template.prepared
    config = prepared.driver.experiment.prepare(prepared.driver_config)
    if config == prepared.driver_config:
        return template
    made: T = evolve(
        cast(Any, template),
        order=evolve(order, driver=Plug(order.driver.name, to_plain(config))),
        prepared=evolve(prepared, driver_config=config, runtime=prepared.driver.runtime(config)),
    )
    return made
