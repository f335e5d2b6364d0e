"""Assertions about structured files: JSON, YAML and TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import jsonschema
import yaml
from attrs import field, frozen
from quintain import AssertionSpec, Evidence, QuintainError, Verdict

from quintain_assertions._common import not_empty, text_of
from quintain_assertions._regex import count, is_pattern

_MISSING = object()


@frozen
class Value:
    """The value at `pointer` (RFC 6901) of the file at `path`: it `equals`, `contains` (text), `matches` (pattern), or is
    there at all (`exists = true` or `false`)."""

    path: str = field(validator=not_empty)
    pointer: str = ""
    equals: Any = None
    contains: str | None = field(default=None, validator=not_empty)
    matches: str | None = field(default=None, validator=is_pattern)
    exists: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.pointer and not self.pointer.startswith("/"):
            raise ValueError(f"`pointer` is {self.pointer!r}; it begins with a slash")
        given = [name for name in ("equals", "contains", "matches", "exists") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give one of `equals`, `contains`, `matches` and `exists`, not {' and '.join(given) or 'none'}"
            )


@frozen
class Schema:
    """The JSON file at `path` fits the JSON Schema `schema`, a table."""

    path: str = field(validator=not_empty)
    schema: Mapping[str, Any]

    def __attrs_post_init__(self) -> None:
        try:
            jsonschema.validators.validator_for(self.schema).check_schema(dict(self.schema))
        except jsonschema.SchemaError as error:
            raise ValueError(f"`schema` is no JSON Schema: {error.message}") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)


def resolve(data: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) points to, or `_MISSING`."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict):
            data = data.get(key, _MISSING)
        elif isinstance(data, list) and key.isdigit() and (key == "0" or key[0] != "0") and int(key) < len(data):
            data = data[int(key)]
        else:
            return _MISSING
        if data is _MISSING:
            return _MISSING
    return data


def _equal(one: Any, other: Any) -> bool:
    """Equal as data: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def judge(config: Any, data: Any, what: str) -> Verdict:
    """Compare what is at a pointer with what is wanted."""
    found = resolve(data, config.pointer)
    where = f"{config.pointer or 'the whole'} of {what}"
    if config.exists is not None:
        return Verdict.of(
            (found is not _MISSING) == config.exists, f"{where} is {'not ' if found is _MISSING else ''}there"
        )
    if found is _MISSING:
        return Verdict.failed(f"{where} is not there")
    if config.equals is not None:
        return Verdict.of(_equal(found, config.equals), f"{where} is {found!r:.200} (wanted: {config.equals!r:.200})")
    text = found if isinstance(found, str) else json.dumps(found, default=str)
    if config.contains is not None:
        return Verdict.of(config.contains in text, f"{where} is {text!r:.200} (wanted: contains {config.contains!r})")
    assert config.matches is not None
    return Verdict.of(count(config.matches, text, most=1) > 0, f"{where} is {text!r:.200} (wanted: {config.matches!r})")


def _value(parse: Any, kind: str) -> Any:
    def evaluate(config: Value, evidence: Evidence) -> Verdict:
        text = text_of(evidence.files, config.path)
        if isinstance(text, Verdict):
            return text
        try:
            data = parse(text)
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            return Verdict.failed(f"{config.path} is no {kind}: {error}")
        return judge(config, data, config.path)

    return evaluate


def _schema(config: Schema, evidence: Evidence) -> Verdict:
    text = text_of(evidence.files, config.path)
    if isinstance(text, Verdict):
        return text
    try:
        data = _json(text)
    except (ValueError, RecursionError) as error:
        return Verdict.failed(f"{config.path} is no JSON: {error}")
    validator = jsonschema.validators.validator_for(config.schema)(config.schema)
    problem = next(iter(sorted(validator.iter_errors(data), key=str)), None)
    if problem is None:
        return Verdict.passed(f"{config.path} fits the schema")
    return Verdict.failed(f"{config.path}: {problem.json_path}: {problem.message:.300}")


def _yaml(text: str) -> Any:
    if len(text) > 1024 * 1024:
        raise QuintainError(f"YAML of {len(text)} characters is not read")
    return yaml.safe_load(text)


SPECS = (
    AssertionSpec("json_value", _value(_json, "JSON"), Value, summary="A value of a JSON file is as wanted."),
    AssertionSpec("yaml_value", _value(_yaml, "YAML"), Value, summary="A value of a YAML file is as wanted."),
    AssertionSpec("toml_value", _value(tomllib.loads, "TOML"), Value, summary="A value of a TOML file is as wanted."),
    AssertionSpec("json_schema", _schema, Schema, summary="A JSON file fits a JSON Schema."),
)
