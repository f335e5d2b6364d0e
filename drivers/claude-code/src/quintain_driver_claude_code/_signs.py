"""Signs of life, and what runs in the background. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quintain import Event, Progress, Unknown
from quintain.driving import table, text

EVERY = 64
"""One sign of life for so many pieces of a stream: enough to be seen alive, few enough to be kept."""

PASSING = frozenset({"rate_limit_event", "tool_progress", "keep_alive", "auth_status", "tool_use_summary"})
"""Types of messages that say no more than that something is going on."""

_IGNORED = ("type", "uuid", "session_id")
_KNOWN = frozenset(
    {
        "status",
        "api_retry",
        "model_fallback",
        "model_refusal_no_fallback",
        "compact_boundary",
        "hook_started",
        "hook_progress",
        "hook_response",
        "task_started",
        "task_progress",
        "task_updated",
        "task_notification",
        "session_state_changed",
        "files_persisted",
        "local_command_output",
    }
)
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


class Signs:
    """Counts what streams by, and knows which tasks run in the background."""

    def __init__(self) -> None:
        self._streamed = 0
        self.tasks: set[str] = set()
        """Tasks that were begun and have not ended."""
        self._told = False
        self._turns, self._ended = 1, 0

    def began(self) -> None:
        """Something begins: a turn of its own, if a task has ended before, even if the last turn has not ended yet."""
        self._turns += self._told
        self._told = False

    def ended(self) -> bool:
        """A turn ended; tells whether it was the last."""
        self._ended += 1
        return not self.tasks and self._ended >= self._turns

    def streamed(self) -> Iterator[Event]:
        """One more piece of a stream."""
        self._streamed += 1
        if self._streamed % EVERY == 0:
            yield Progress("the model is writing")

    def system(self, subtype: str, message: Mapping[str, Any]) -> Iterator[Event]:
        """A message of the system."""
        if subtype == "thinking_tokens":
            yield from self.streamed()
        elif subtype not in _KNOWN:
            yield Unknown(f"system/{subtype}", dict(message))
        else:
            self._follow(subtype, message)
            detail = {key: value for key, value in message.items() if key not in _IGNORED}
            yield Progress(_words(subtype, message), detail)

    def passing(self, kind: str, message: Mapping[str, Any]) -> Iterator[Event]:
        """A message that passes."""
        if kind != "keep_alive":
            yield Progress(kind, {key: value for key, value in message.items() if key not in _IGNORED})

    def waiting(self) -> Event:
        """The turn ended and work goes on."""
        return Progress(f"its turn ended, and more is to come ({len(self.tasks)} tasks run in the background)")

    def withdrawn(self, known: bool) -> Event:
        """A request was withdrawn."""
        return Progress("it withdrew its question" if known else "it withdrew a question that was not out")

    def _follow(self, subtype: str, message: Mapping[str, Any]) -> None:
        task = text(message, "task_id")
        if task is None:
            return
        if subtype == "task_started":
            self.tasks.add(task)
        elif subtype == "task_notification":
            # The model will be told, and if no turn goes on that will begin one.
            self._told = True
            self.tasks.discard(task)
        elif subtype == "task_updated" and text(table(message, "patch"), "status") in _ENDED - {"completed", "failed"}:
            self.tasks.discard(task)


def _words(subtype: str, message: Mapping[str, Any]) -> str:
    if subtype == "api_retry":
        wait, what = message.get("retry_delay_ms"), text(message, "error") or "an error"
        seconds = f"{wait / 1000:.1f} s" if isinstance(wait, int | float) else "a while"
        return f"the model's server: {what}; try {message.get('attempt')} follows in {seconds}"
    if subtype == "model_fallback":
        return f"{message.get('original_model')} was replaced by {message.get('fallback_model')}"
    about = text(message, "description") or text(message, "summary") or text(message, "status")
    return f"{subtype.replace('_', ' ')}: {about}" if about else subtype.replace("_", " ")
