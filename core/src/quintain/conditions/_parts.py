"""The parts of an identity that follow from what was authored. `docs/reference/identity.md` says what is in and why."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from attrs import asdict

from quintain.conditions._places import Anchors
from quintain.conditions._salt import salted
from quintain.identity.canonical import digest, digest_bytes
from quintain.model.codec import to_plain
from quintain.model.limits import NO_OVERRIDES, LimitOverrides, Limits
from quintain.model.plain import Json, PluginUse
from quintain.model.trial import Isolation, TrialOrder
from quintain.plugins import Plugins
from quintain.trial.fixtures import Fixtures
from quintain.trial.grade import Check
from quintain.trial.prepare import Prepared
from quintain.version import VERSION

Part = dict[str, Json]


class TemplateLike(Protocol):
    """What all repetitions of one case under one profile share."""

    @property
    def order(self) -> TrialOrder:
        """The order, but for its repetition."""

    @property
    def prepared(self) -> Prepared:
        """Its plugins, loaded."""

    @property
    def fixtures(self) -> Fixtures:
        """Its case's files."""


def core_part() -> Part:
    """The program that runs, stores and grades trials."""
    return {"version": VERSION}


def platform_part() -> Part:
    """The machine, as far as it changes what programs do."""
    try:
        release = platform.freedesktop_os_release()
        words = [release.get("ID", ""), release.get("VERSION_ID", "")]
        distribution = " ".join(word for word in words if word)
    except OSError:
        distribution = platform.mac_ver()[0]
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "distribution": distribution or None,
        # A patch release mends; what a campaign runs as a program has a digest of its own.
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def plugin_part(use: PluginUse) -> Part:
    """Which code stands behind a plugin's name."""
    return {"distribution": use.distribution, "version": use.version}


def isolation_part(isolation: Isolation, host: Mapping[str, str], salt: bytes) -> Part:
    """What an agent sees of the machine: variables by name, their values as salted digests, secrets only by name."""
    return {
        "sandbox": isolation.sandbox,
        "network": isolation.network,
        "env": {name: salted(salt, name, value) for name, value in isolation.env.items()},
        "pass_env": {
            name: salted(salt, name, host[name]) if name in host else "not set"
            for name in isolation.pass_env
            if name not in isolation.secrets
        },
        "secrets": dict.fromkeys(isolation.secrets, "by name"),
    }


def limits_part(templates: Iterable[TemplateLike]) -> Part:
    """The limits of a profile: of each, what holds where a case doesn't state it."""
    found: Part = {}
    seen: set[tuple[Limits, LimitOverrides]] = set()
    for order in (template.order for template in templates):
        if (order.limits, order.case.limits) not in seen:
            seen.add((order.limits, order.case.limits))
            own = _own_limits(order)
            found |= {name: value for name, value in asdict(order.limits).items() if name not in own}
    return found


def _own_limits(order: TrialOrder) -> set[str]:
    """Names of the limits that a case states itself."""
    if order.case.limits is NO_OVERRIDES:
        return set()
    names = {name for name, value in asdict(order.case.limits).items() if value is not None}
    return {"total_s" if name == "timeout_s" else name for name in names}


def case_part(template: TemplateLike, plugins: Plugins, anchors: Anchors) -> Part:
    """A case, but for a driver or an answerer of its own."""
    order = template.order
    case, own = order.case, _own_limits(order)
    return {
        "prompt": _text(case.prompt),
        "persona": _text(case.persona) if case.persona is not None else None,
        "parameters": anchors.free(dict(case.parameters)),
        "fixtures": order.fixtures,
        "limits": {name: getattr(order.limits, name) for name in own},
        "grader": _grader_part(template, plugins, anchors),
    }


def _grader_part(template: TemplateLike, plugins: Plugins, anchors: Anchors) -> Part:
    checks = template.prepared.checks
    types = sorted({check.assertion.type for check in _every(checks)})
    return {
        "assertions": {
            check.id: digest([anchors.free(to_plain(check.assertion)), _versions(check)]) for check in checks
        },
        "protected": list(template.order.case.protected) or None,
        "hidden": template.order.hidden,
        "plugins": {name: plugin_part(plugins.use("assertion", name)) for name in types},
    }


def _every(checks: Iterable[Check]) -> Iterator[Check]:
    for check in checks:
        yield check
        yield from _every(check.nested.values())


def _versions(check: Check) -> Sequence[Sequence[str]]:
    return sorted({(one.assertion.type, one.spec.version) for one in _every([check])})


def _text(text: str) -> str:
    return digest_bytes(text.encode("utf-8", "surrogatepass"))
