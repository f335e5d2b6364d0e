"""What several types share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import Attribute
from quintain import Content, Evidence, Message, Verdict
from quintain.contracts.assertion import Files

READ_BYTES = 16 * 1024 * 1024


def not_empty(instance: object, attribute: Attribute[Any], value: object) -> None:
    """Refuse what would hold for everything."""
    if value is not None and not value:
        raise ValueError(f"`{attribute.name}` is empty, so it would hold for everything")


def a_bound(instance: Any, *names: str) -> None:
    """Refuse bounds that are missing or cross each other."""
    low, high = (getattr(instance, name) for name in names)
    if low is None and high is None:
        raise ValueError(f"give `{names[0]}`, `{names[1]}` or both")
    for name, value in zip(names, (low, high), strict=True):
        if value is not None and value < 0:
            raise ValueError(f"`{name}` is {value}; it can't be negative")
    if low is not None and high is not None and low > high:
        raise ValueError(f"`{names[0]}` ({low}) exceeds `{names[1]}` ({high})")
    if not low and high is None:
        raise ValueError(f"`{names[0]}` is 0, so it would hold for everything")


def within(number: float, low: float | None, high: float | None) -> bool:
    """The number lies between the bounds that there are."""
    return (low is None or number >= low) and (high is None or number <= high)


def bounds(low: float | None, high: float | None) -> str:
    """Bounds in words."""
    if low is not None and high is not None:
        return f"exactly {low}" if low == high else f"{low} to {high}"
    return f"at least {low}" if high is None else f"at most {high}"


def unread(content: Content) -> Verdict:
    """The verdict on a file that can't be read: it isn't there, or nobody knows what is in it."""
    reason = content.problem or "it can't be read"
    return Verdict.failed(reason) if content.missing else Verdict.abstain(reason)


def text_of(files: Files, path: str) -> str | Verdict:
    """The text of a file, or the verdict that there is none."""
    content = files.read(path, limit=READ_BYTES)
    if content.data is None:
        return unread(content)
    try:
        return content.data.decode()
    except UnicodeDecodeError as error:
        return Verdict.failed(f"{path} is no text: {error.reason} at byte {error.start}")


def said(evidence: Evidence, against: str) -> str | None:
    """What the main agent said: its answer, or all its messages; None if it said nothing."""
    if against == "answer":
        return evidence.answer
    texts = [line.event.text for line in evidence.trace if isinstance(line.event, Message) and line.event.agent is None]
    return "\n".join(texts) if texts else None


def excerpt(text: str, limit: int = 160) -> str:
    """The end of a text, where errors are."""
    text = text.strip()
    return repr(text if len(text) <= limit else "..." + text[-limit:])


def names(paths: Sequence[str], limit: int = 5) -> str:
    """A few of many."""
    more = f" and {len(paths) - limit} more" if len(paths) > limit else ""
    return ", ".join(paths[:limit]) + more
