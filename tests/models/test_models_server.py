"""The scripted model server says what its script says, breaks where it says so, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from models.anthropic import Messages, Said, call, prompts, results, say, think, turn
from models.server import ModelServer, Request, Turn, by_turn, in_order, serving


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(in_order(turn(say("hello"))), Messages()) as running:
        yield running


def ask(server: ModelServer, *messages: Any, stream: bool = False, **options: Any) -> httpx.Response:
    body = {
        "model": "m",
        "max_tokens": 9,
        "stream": stream,
        "messages": messages or [{"role": "user", "content": "hi"}],
    }
    return httpx.post(f"{server.url}/v1/messages?beta=true", json=body, timeout=options.get("timeout", 20))


def events(response: httpx.Response) -> list[dict[str, Any]]:
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def joined(found: list[dict[str, Any]]) -> str:
    deltas = (event["delta"] for event in found if event["type"] == "content_block_delta")
    return "".join(
        next((delta[key] for key in ("text", "thinking", "partial_json") if key in delta), "") for delta in deltas
    )


def test_it_says_what_the_script_says_in_one_piece(server: ModelServer) -> None:
    message = ask(server).json()
    assert message["content"] == [{"type": "text", "text": "hello"}]
    assert message["stop_reason"] == "end_turn"
    assert message["usage"]["output_tokens"] == 7


def test_it_says_the_same_as_a_stream(server: ModelServer) -> None:
    server.script = in_order(turn(think("hm"), say("hello"), call("Bash", command="ls")))
    found = events(ask(server, stream=True))
    assert found[0]["type"] == "message_start"
    assert found[-1]["type"] == "message_stop"
    assert joined(found) == 'hmhello{"command": "ls"}'
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    assert (found[0]["message"]["usage"]["output_tokens"], found[-2]["usage"]["output_tokens"]) == (1, 7)


def test_turns_are_taken_in_order_and_the_last_stays(server: ModelServer) -> None:
    server.script = in_order(turn(say("a")), turn(say("b")))
    assert [ask(server).json()["content"][0]["text"] for _ in range(3)] == ["a", "b", "b"]


def test_a_conversation_takes_its_own_turn_however_often_it_tries(server: ModelServer) -> None:
    server.script = by_turn(turn(say("a")), turn(say("b")))
    later = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "y"}]
    assert [ask(server, *said).json()["content"][0]["text"] for said in ([], later, [], later)] == ["a", "b", "a", "b"]


def test_an_error_has_its_status_its_kind_and_its_headers(server: ModelServer) -> None:
    server.script = in_order(Turn(status=429, message="slow down", headers={"retry-after": "3"}))
    response = ask(server, stream=True)
    assert response.status_code == 429
    assert response.headers["retry-after"] == "3"
    assert response.json()["error"] == {"type": "rate_limit_error", "message": "slow down"}


def test_a_stream_is_cut_where_the_script_says(server: ModelServer) -> None:
    server.script = in_order(turn(say("hello"), cut_after=3))
    with pytest.raises(httpx.RemoteProtocolError):
        ask(server, stream=True)


def test_a_stream_has_a_broken_event_where_the_script_says(server: ModelServer) -> None:
    server.script = in_order(turn(say("hello"), malformed_after=2))
    with pytest.raises(json.JSONDecodeError):
        events(ask(server, stream=True))


@pytest.mark.parametrize("silent", [Turn(hang=True), turn(say("hello"), hang_after=2)])
def test_silence_lasts_until_the_server_stops(silent: Turn) -> None:
    with serving(in_order(silent), Messages()) as server:
        with pytest.raises(httpx.ReadTimeout):
            ask(server, stream=True, timeout=0.3)
        began = time.monotonic()
    assert time.monotonic() - began < 5


def test_a_delay_comes_before_the_answer(server: ModelServer) -> None:
    server.script = in_order(turn(say("hello"), delay_s=0.2))
    began = time.monotonic()
    assert ask(server).status_code == 200
    assert time.monotonic() - began >= 0.2


def test_every_request_is_recorded(server: ModelServer) -> None:
    httpx.head(f"{server.url}/")
    used = {"role": "assistant", "content": [call("Bash", "t1", command="ls")]}
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]}
    ask(server, {"role": "user", "content": "hi"}, used, told)
    assert [request.method for request in server.requests] == ["HEAD", "POST"]
    (request,) = server.asked
    assert request.turns == 1
    assert prompts(request) == ["hi"]
    assert results(request)["t1"]["content"] == "a.txt"


def test_tokens_are_counted_without_the_script(server: ModelServer) -> None:
    counted = httpx.post(f"{server.url}/v1/messages/count_tokens", json={"messages": []})
    assert counted.json() == {"input_tokens": 100}
    assert server.asked == []


def test_a_body_in_chunks_arrives_whole(server: ModelServer) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "in parts"}]}).encode()
    httpx.post(f"{server.url}/v1/messages", content=iter([body[:9], body[9:]]))
    assert prompts(server.asked[0]) == ["in parts"]


def test_many_ask_at_once_and_each_is_answered_by_what_it_asked(server: ModelServer) -> None:
    def echo(request: Request) -> Turn:
        return turn(say(prompts(request)[0]), delay_s=0.05)

    server.script = echo
    heard: dict[str, str] = {}

    def one(word: str) -> None:
        heard[word] = ask(server, {"role": "user", "content": word}).json()["content"][0]["text"]

    threads = [threading.Thread(target=one, args=(str(number),)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {str(number): str(number) for number in range(16)}


def test_the_served_model_and_the_usage_may_be_others(server: ModelServer) -> None:
    server.script = in_order(Turn(Said([say("x")], {"input_tokens": 1, "output_tokens": 2}, model="other", id="msg_x")))
    message = ask(server).json()
    assert (message["model"], message["id"], message["usage"]) == (
        "other",
        "msg_x",
        {"input_tokens": 1, "output_tokens": 2},
    )
