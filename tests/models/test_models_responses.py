"""The responses dialect says the same whole and in pieces, and counts how often the model has spoken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from models.responses import Responses, call, failed, patch, prompts, results, say, shell, think, turn
from models.server import ModelServer, Turn, by_turn, in_order, serving


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(in_order(turn(say("hello"))), Responses()) as running:
        yield running


def ask(server: ModelServer, *items: Any, stream: bool = False) -> httpx.Response:
    asked = items or [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    return httpx.post(f"{server.url}/v1/responses", json={"model": "m", "stream": stream, "input": list(asked)})


def events(response: httpx.Response) -> list[dict[str, Any]]:
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_a_response_has_what_was_said_and_what_it_used(server: ModelServer) -> None:
    response = ask(server).json()
    assert response["status"] == "completed"
    assert response["output"][0]["content"][0]["text"] == "hello"
    assert response["usage"]["input_tokens_details"] == {"cached_tokens": 20}


def test_a_stream_says_the_same(server: ModelServer) -> None:
    server.script = in_order(turn(think("hm"), say("hello"), shell("ls"), patch("a", "b")))
    found = events(ask(server, stream=True))
    assert [found[0]["type"], found[-1]["type"]] == ["response.created", "response.completed"]
    assert "".join(event["delta"] for event in found if event["type"].endswith("delta")) == "hello"
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert done == found[-1]["response"]["output"]


def test_a_stream_may_end_in_a_failure(server: ModelServer) -> None:
    server.script = in_order(failed("insufficient_quota", "none left"))
    end = events(ask(server, stream=True))[-1]
    assert (end["type"], end["response"]["error"]["code"]) == ("response.failed", "insufficient_quota")


def test_a_conversation_is_told_its_turns_whoever_else_asks(server: ModelServer) -> None:
    server.script = by_turn(turn(shell("ls")), turn(call("add", "tiny", a=1)), turn(say("done")))
    history: list[Any] = [{"type": "message", "role": "user", "content": []}]
    said = []
    for _ in range(3):
        ask(server)  # another conversation
        output = ask(server, *history).json()["output"]
        said.append(output[0]["type"])
        history += [*output, {"type": "function_call_output", "call_id": "c", "output": "x"}]
    assert said == ["function_call", "function_call", "message"]
    assert results(server.asked[-1])["c"] == "x"
    assert prompts(server.asked[0]) == ["hi"]


def test_an_error_is_one_of_the_protocol(server: ModelServer) -> None:
    server.script = in_order(Turn(status=429, message="slow", headers={"retry-after": "1"}))
    response = ask(server)
    assert (response.status_code, response.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert response.headers["retry-after"] == "1"
    assert httpx.get(f"{server.url}/v1/models").status_code == 404
