"""What happens in a trial, as a driver reports it and as the trace keeps it.

A driver yields events; the engine stamps each with its place and time (`Traced`) and adds its own (`StageBegan`,
`Answered`, `Note`). An event is never dropped for being unknown: a driver passes on what it doesn't know as `Unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from attrs import field, frozen

from quintain.model.outcome import Failure, Stage
from quintain.model.plain import Json
from quintain.model.question import Answer, Question
from quintain.model.usage import Usage


@frozen
class Ready:
    """The agent has started and says who it is; the first event of every session.

    Attributes:
        agent: name of the agent.
        version: version of the agent, as it says.
        model: the model that it says it uses.
        session: the agent's own id of this session.
        detail: anything else it announces: tools, tool servers, instruction files, permission mode.
    """

    agent: str | None = None
    version: str | None = None
    model: str | None = None
    session: str | None = None
    detail: Mapping[str, Json] = field(factory=dict)


@frozen
class Message:
    """Text that the agent says; several with one id are parts of one message, in order."""

    text: str
    id: str | None = None
    agent: str | None = None


@frozen
class Reasoning:
    """Text that the agent thinks."""

    text: str
    agent: str | None = None


@frozen
class ToolCall:
    """The agent uses a tool; `id` pairs it with its result, `server` names a tool server."""

    id: str
    name: str
    input: Json = None
    agent: str | None = None
    server: str | None = None


@frozen
class ToolResult:
    """What a tool gave back.

    Attributes:
        id: that of the call.
        text: the result as text.
        output: the result as data, if it has a structure.
        error: the tool failed or was refused.
        denied: it was refused by a permission.
    """

    id: str
    name: str | None = None
    text: str = ""
    output: Json = None
    error: bool = False
    denied: bool = False
    duration_s: float | None = None
    agent: str | None = None


@frozen
class Used:
    """Tokens and money were used; sent as it happens, so that a trial that times out still has its spend."""

    usage: Usage


@frozen
class Asked:
    """The agent asks and waits."""

    question: Question


@frozen
class Progress:
    """A sign of life with a few words."""

    text: str = ""
    detail: Mapping[str, Json] = field(factory=dict)


@frozen
class Artifact:
    """The agent points at a file of its workspace that matters."""

    path: str
    name: str | None = None
    media_type: str | None = None


@frozen
class Log:
    """Output that is no protocol: banners, warnings, stderr; `text` may be cut, `dropped` counts bytes."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"
    dropped: int = 0


@frozen
class ProtocolError:
    """A line that is part of the protocol but wrong.

    Attributes:
        message: what is wrong, naming the field.
        line: the line itself, cut to a bounded length.
        number: its number in the stream, from 1.
        field: the field that is wrong, as a dotted path.
    """

    message: str
    line: str = ""
    number: int | None = None
    field: str | None = None


@frozen
class Unknown:
    """A message of a kind that the driver doesn't know (a newer agent); kept whole and counted."""

    kind: str
    data: Json = None


@frozen
class Done:
    """The agent says that it has finished; the answer stands whatever happens afterwards.

    Attributes:
        text: its final answer, or None if its last message is the answer.
        error: its own error flag, for agents that report success and an error at once.
        failure: what the driver recognised in its words, such as a rate limit told as an answer; the text is then not
            an answer.
        denials: permission requests that were refused, as the agent counts them.
        detail: the agent's own summary.
    """

    text: str | None = None
    error: bool = False
    failure: Failure | None = None
    denials: int | None = None
    detail: Mapping[str, Json] = field(factory=dict)


@frozen
class Failed:
    """The agent says that it can't go on.

    Attributes:
        reason: its words.
        failure: the class of infrastructure failure that the driver recognised; None: the agent itself failed.
        detail: the agent's own summary.
    """

    reason: str
    failure: Failure | None = None
    detail: Mapping[str, Json] = field(factory=dict)


@frozen
class StageBegan:
    """By the engine: a stage of the trial began."""

    stage: Stage


@frozen
class Answered:
    """By the engine: a question was answered and the answer delivered.

    Attributes:
        answer: what was said.
        by: name of the answerer.
        waited_s: seconds that the question was out.
        delivered: False if the agent was gone when the answer came.
    """

    answer: Answer
    by: str
    waited_s: float
    delivered: bool = True


@frozen
class Note:
    """By the engine: something a reader of the trace must know, such as bytes that were left out."""

    kind: str
    text: str
    detail: Mapping[str, Json] = field(factory=dict)


Event: TypeAlias = (
    Ready
    | Message
    | Reasoning
    | ToolCall
    | ToolResult
    | Used
    | Asked
    | Progress
    | Artifact
    | Log
    | ProtocolError
    | Unknown
    | Done
    | Failed
    | StageBegan
    | Answered
    | Note
)

EVENT_NAMES: Mapping[type, str] = {
    Ready: "ready",
    Message: "message",
    Reasoning: "reasoning",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
    Used: "usage",
    Asked: "question",
    Progress: "progress",
    Artifact: "artifact",
    Log: "log",
    ProtocolError: "protocol_error",
    Unknown: "unknown",
    Done: "done",
    Failed: "failed",
    StageBegan: "stage",
    Answered: "answer",
    Note: "note",
}
"""The word by which each kind of event is known in files, reports and assertions."""


@frozen
class Traced:
    """One line of a trace.

    Attributes:
        seq: number of the event in its trace, from 1; order is by this, not by time.
        at_s: seconds since the attempt began, by a monotonic clock.
        event: what happened.
        late: it came after the agent said that it had finished.
    """

    seq: int
    at_s: float
    event: Event
    late: bool = False
