"""Assertions about a tool server: what it said of itself. A driver that speaks to one puts that into
`Ready.detail["mcp"]`: `{"server": {"name", "version"}, "capabilities": {...}, "tools": [{"name", ...}]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen
from quintain import AssertionSpec, Evidence, Ready, Verdict, of_type

from quintain_assertions._common import a_bound, bounds, names, not_empty, within


@frozen
class Server:
    """The server's `name` and `version`, either or both."""

    name: str | None = field(default=None, validator=not_empty)
    version: str | None = field(default=None, validator=not_empty)

    def __attrs_post_init__(self) -> None:
        if self.name is None and self.version is None:
            raise ValueError("give `name`, `version` or both")


@frozen
class Listed:
    """The tool `name` is listed, or with `expected = false` is not."""

    name: str = field(validator=not_empty)
    expected: bool = True


@frozen
class ToolCount:
    """The server lists `min` to `max` tools."""

    min: int | None = None
    max: int | None = None

    def __attrs_post_init__(self) -> None:
        a_bound(self, "min", "max")


@frozen
class Capability:
    """The server does not announce `capability`."""

    capability: Literal["resources", "prompts", "logging", "completions", "tools"]


def _server(evidence: Evidence) -> Mapping[str, Any] | Verdict:
    for line in of_type(evidence.trace, Ready):
        assert isinstance(line.event, Ready)
        found = line.event.detail.get("mcp")
        if isinstance(found, Mapping):
            return found
    return Verdict.failed("nothing to check: no tool server said anything of itself")


def _tools(evidence: Evidence) -> Sequence[str] | Verdict:
    server = _server(evidence)
    if isinstance(server, Verdict):
        return server
    tools = server.get("tools")
    if not isinstance(tools, list | tuple):
        return Verdict.failed("nothing to check: the tool server listed no tools")
    return [str(tool.get("name")) for tool in tools if isinstance(tool, Mapping)]


def _is_server(config: Server, evidence: Evidence) -> Verdict:
    server = _server(evidence)
    if isinstance(server, Verdict):
        return server
    said = server.get("server") or {}
    ok = config.name in (None, said.get("name")) and config.version in (None, said.get("version"))
    return Verdict.of(ok, f"the server is {said.get('name')} {said.get('version')}")


def _listed(config: Listed, evidence: Evidence) -> Verdict:
    tools = _tools(evidence)
    if isinstance(tools, Verdict):
        return tools
    found = config.name in tools
    return Verdict.of(found == config.expected, f"{config.name} is {'' if found else 'not '}listed: {names(tools, 10)}")


def _count(config: ToolCount, evidence: Evidence) -> Verdict:
    tools = _tools(evidence)
    if isinstance(tools, Verdict):
        return tools
    reason = f"{len(tools)} tools are listed (wanted: {bounds(config.min, config.max)})"
    return Verdict.of(within(len(tools), config.min, config.max), reason)


def _lacks(config: Capability, evidence: Evidence) -> Verdict:
    server = _server(evidence)
    if isinstance(server, Verdict):
        return server
    capabilities = server.get("capabilities") or {}
    there = capabilities.get(config.capability) not in (None, False)
    return Verdict.of(not there, f"{config.capability} is {'' if there else 'not '}announced")


SPECS = (
    AssertionSpec("mcp_server", _is_server, Server, quick=True, summary="A tool server is the one that it should be."),
    AssertionSpec("mcp_tool_listed", _listed, Listed, quick=True, summary="A tool server lists a tool."),
    AssertionSpec("mcp_tool_count", _count, ToolCount, quick=True, summary="A tool server lists so many tools."),
    AssertionSpec("mcp_capability_absent", _lacks, Capability, quick=True, summary="A tool server can't do something."),
)
