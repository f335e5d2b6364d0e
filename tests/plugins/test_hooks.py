"""The hooks: one for each kind of plugin, each with a docstring that names its group."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from quintain import hooks
from quintain.plugins import KINDS, Kind

HOOKS: dict[str, Callable[..., Any]] = {
    name: value for name, value in vars(hooks).items() if getattr(value, "quintain_spec", None) is not None
}


def test_there_is_one_hook_for_each_kind_of_plugin() -> None:
    assert list(HOOKS) == [kind.hook for kind in KINDS.values()]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.word)
def test_a_hook_says_what_it_declares_and_names_its_group(kind: Kind) -> None:
    text = inspect.getdoc(HOOKS[kind.hook]) or ""
    assert f"Group `{kind.group}`" in text
    assert text.startswith(("Declare", "Add"))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.word)
def test_a_hook_that_declares_takes_no_arguments_and_returns_its_kinds_declaration(kind: Kind) -> None:
    signature = inspect.signature(HOOKS[kind.hook])
    if kind.spec is None:
        assert list(signature.parameters) == ["cli"]
        assert signature.return_annotation == "None"
    else:
        assert list(signature.parameters) == []
        assert kind.spec.__name__ in signature.return_annotation


def test_the_public_mark_is_the_one_that_hooks_are_found_by() -> None:
    import quintain

    assert quintain.hookimpl is hooks.hookimpl
    assert hooks.hookimpl.project_name == hooks.hookspec.project_name == "quintain"


def test_the_head_of_the_hooks_shows_a_plugin_that_works() -> None:
    assert '[project.entry-points."quintain.driver"]' in str(hooks.__doc__)
    assert "@hookimpl" in str(hooks.__doc__)
