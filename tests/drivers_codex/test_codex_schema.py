"""What the driver says is what the installed Codex itself says that it understands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from quintain import Answer, Question
from quintain_driver_codex import CodexConfig
from quintain_driver_codex._binary import behind
from quintain_driver_codex._messages import initialize, initialized, interrupt, refuse, start_thread, start_turn
from quintain_driver_codex._questions import form

Schemas = Mapping[str, Any]

CONFIGS = [
    CodexConfig(),
    CodexConfig(model="m", effort="high", sandbox="read-only", approval="untrusted", instructions="In verse."),
    CodexConfig(sandbox="danger-full-access", approval="never", questions=False),
]

IDS = {"threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1}
ELICITATION = {"serverName": "s", "threadId": "t", "turnId": "u", "message": "How many?"}
FORM = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "c": {"type": "string", "enum": ["a", "b"]}, "b": {"type": "boolean"}},
    "required": ["n"],
}

REQUESTS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "item/commandExecution/requestApproval",
        "CommandExecutionRequestApprovalParams",
        "CommandExecutionRequestApprovalResponse",
        {**IDS, "kind": "command", "command": "ls", "cwd": "/w", "environmentId": "local"},
    ),
    (
        "item/fileChange/requestApproval",
        "FileChangeRequestApprovalParams",
        "FileChangeRequestApprovalResponse",
        {**IDS, "reason": None},
    ),
    (
        "item/permissions/requestApproval",
        "PermissionsRequestApprovalParams",
        "PermissionsRequestApprovalResponse",
        {**IDS, "cwd": "/w", "environmentId": "local", "permissions": {"network": {"enabled": True}}},
    ),
    (
        "item/tool/requestUserInput",
        "ToolRequestUserInputParams",
        "ToolRequestUserInputResponse",
        {
            **{key: IDS[key] for key in ("threadId", "turnId", "itemId")},
            "isBlocking": True,
            "questions": [
                {"id": "q", "header": "h", "question": "?", "isOther": True, "isSecret": False, "options": None}
            ],
        },
    ),
    (
        "mcpServer/elicitation/request",
        "McpServerElicitationRequestParams",
        "McpServerElicitationRequestResponse",
        {**ELICITATION, "mode": "form", "requestedSchema": FORM},
    ),
    (
        "mcpServer/elicitation/request",
        "McpServerElicitationRequestParams",
        "McpServerElicitationRequestResponse",
        {**ELICITATION, "mode": "url", "url": "http://127.0.0.1/", "elicitationId": "e"},
    ),
    (
        "execCommandApproval",
        "ExecCommandApprovalParams",
        "ExecCommandApprovalResponse",
        {"conversationId": "t", "callId": "c", "command": ["ls"], "cwd": "/w", "parsedCmd": []},
    ),
    (
        "applyPatchApproval",
        "ApplyPatchApprovalParams",
        "ApplyPatchApprovalResponse",
        {"conversationId": "t", "callId": "c", "fileChanges": {"/w/a": {"type": "add", "content": "x"}}},
    ),
]


@pytest.fixture(scope="session")
def schemas(codex: str, tmp_path_factory: pytest.TempPathFactory) -> Schemas:
    home = tmp_path_factory.mktemp("schema")
    program = behind(Path(codex).resolve())
    command = [str(program), "app-server", "generate-json-schema", "--experimental", "--out", str(home / "out")]
    env = {"HOME": str(home), "CODEX_HOME": str(home), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, check=True, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    return {path.stem: json.loads(path.read_text()) for path in (home / "out").glob("*.json")}


def fits(schemas: Schemas, name: str, message: object) -> None:
    jsonschema.Draft7Validator(schemas[name]).validate(message)


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_each_request_is_one_that_it_knows(schemas: Schemas, config: CodexConfig) -> None:
    for message in (initialize(), start_thread(config, "/w"), start_turn(config, "t", "é\n"), interrupt("t", "u")):
        fits(schemas, "ClientRequest", json.loads(json.dumps(message)))
    fits(schemas, "ClientNotification", initialized())


def test_each_request_of_its_own_is_answered_or_refused(schemas: Schemas) -> None:
    asked = {one["properties"]["method"]["enum"][0] for one in schemas["ServerRequest"]["oneOf"]}
    known = {method for method, *_ in REQUESTS}
    assert known <= asked
    fits(schemas, "JSONRPCError", json.loads(json.dumps(refuse(0, "x"))))
    assert asked - known == {"item/tool/call", "account/chatgptAuthTokens/refresh", "attestation/generate"}


@pytest.mark.parametrize(("method", "asked", "answered", "params"), REQUESTS, ids=range(len(REQUESTS)))
@pytest.mark.parametrize("kind", ["yes", "no", "refused"])
def test_each_answer_is_one_that_it_understands(
    schemas: Schemas, method: str, asked: str, answered: str, params: dict[str, Any], kind: str
) -> None:
    fits(schemas, asked, params)
    wants = form(method, params, "id")
    assert wants is not None
    answers = {name: _answer(question, kind) for name, question in wants.questions.items()}
    fits(schemas, answered, json.loads(json.dumps(wants.reply(answers))))


def _answer(question: Question, kind: str) -> Answer:
    if kind == "refused":
        return Answer.refuse(question, "no")
    if question.kind == "approve":
        return Answer.decide(question, kind == "yes")
    label = question.options[0].label if question.options else "7"
    return Answer.say(question, label if kind == "yes" else "", chosen=(label,) if kind == "yes" else ())


def test_its_own_words_are_known_to_the_schema(schemas: Schemas) -> None:
    from quintain_driver_codex import _notices

    methods = {one["properties"]["method"]["enum"][0] for one in schemas["ServerNotification"]["oneOf"]}
    known = _notices._QUIET | _notices._PARTS | _notices._LOGGED | _notices._READERS.keys()
    assert known <= methods, sorted(known - methods)
