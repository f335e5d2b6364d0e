"""A project: where its cases are, and the named ways to run them."""

from __future__ import annotations

from attrs import field, frozen

from quintain.model.limits import Limits, Retry
from quintain.model.plain import Plug
from quintain.model.trial import Isolation


@frozen
class Profile:
    """A named way to run cases: driver and configuration, answerer, limits, isolation."""

    name: str
    driver: Plug
    answerer: Plug = field(factory=lambda: Plug("deny"))
    limits: Limits = field(factory=Limits)
    retry: Retry = field(factory=Retry)
    isolation: Isolation = field(factory=Isolation)
