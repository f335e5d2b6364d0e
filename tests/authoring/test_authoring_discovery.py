"""Case files are found by one rule; what lies in fixtures is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from authoring.conftest import Workshop
from quintain.authoring import discover
from quintain.errors import UsageError

ONE = 'prompt = "p"\n'


def ids(workshop: Workshop, *paths: str) -> list[str]:
    return [case.id for case in workshop.discover(*paths).cases]


def test_case_files_are_known_by_their_names(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    for path in ("b.case.toml", "sub/deep/a.case.toml"):
        workshop.write(f"cases/{path}", ONE)
    for path in ("pyproject.toml", "_off.case.toml", ".x.case.toml", "_d/x.case.toml", ".venv/x.case.toml", "x.py"):
        workshop.write(f"cases/{path}", "=")
    workshop.write("elsewhere/x.case.toml", "=")
    assert ids(workshop) == ids(workshop, ".") == ids(workshop, "cases") == ["b", "sub/deep/a"]


def test_an_id_does_not_depend_on_how_its_file_was_named(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    workshop.write("cases/sub/a.case.toml", ONE)
    for path in ("cases/sub", "cases/sub/a.case.toml", "cases/../cases/sub"):
        assert ids(workshop, path) == ["sub/a"]
    (workshop.root / "link").symlink_to(workshop.root / "cases/sub")
    assert ids(workshop, "link") == ids(workshop, "cases", "link", "cases/sub/a.case.toml") == ["sub/a"]


def test_other_folders_can_be_named_too(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    workshop.write("quintain.toml")
    workshop.write("extra/a.case.toml", ONE)
    assert ids(workshop, "extra") == ["extra/a"]
    outside = tmp_path_factory.mktemp("outside") / "b.case.toml"
    outside.write_text(ONE)
    found = discover([outside], workshop.project().project)
    assert [(case.id, case.source) for case in found.cases] == [("b", f"{outside}:1")]


def test_nothing_is_nothing_but_a_wrong_path_is_an_error(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    workshop.write("cases/README.md")
    assert ids(workshop) == []
    with pytest.raises(UsageError, match="there is no file or folder nope"):
        workshop.discover("nope")
    with pytest.raises(UsageError, match=r"README.md is no case file\n  case files end in .case.toml or .case.py"):
        workshop.discover("cases/README.md")


def test_case_files_in_fixtures_are_neither_read_nor_run(workshop: Workshop) -> None:
    workshop.write("quintain.toml", '[project]\ncases = ["."]\n')
    workshop.write("a.case.toml", ONE + 'fixtures = "z/fixture"\nhidden = "hide"\n')
    workshop.write("many.case.toml", '[[case]]\nid = "a"\n' + ONE + 'fixtures = "third"\n')
    workshop.write("wrong.case.toml", ONE + 'fixtures = "fourth"\n')
    for folder in ("z/fixture", "hide", "third/deep", "fourth"):
        workshop.write(f"{folder}/inner.case.toml", "=")
        workshop.write(f"{folder}/inner.case.py", "import pathlib; pathlib.Path('ran').touch()\ncases = []\n")
    assert ids(workshop) == ["a", "many/a", "wrong"]
    workshop.write("wrong.case.toml", ONE + 'fixtures = "fourth"\nx = 1\n')
    assert workshop.refused().startswith("wrong.case.toml:3: x: unknown key")
    assert not (workshop.root / "ran").exists()


def test_a_case_file_in_fixtures_is_read_if_it_is_named_itself(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    workshop.write("cases/a.case.toml", ONE + 'fixtures = "fx"\n')
    workshop.write("cases/fx/b.case.toml", ONE)
    assert ids(workshop) == ["a"]
    assert ids(workshop, "cases/a.case.toml", "cases/fx/b.case.toml") == ["a", "fx/b"]


def test_the_store_is_not_searched(workshop: Workshop) -> None:
    workshop.write("quintain.toml", '[project]\ncases = ["."]\nstore = "kept"\n')
    workshop.write("kept/runs/a.case.toml", "=")
    assert ids(workshop) == []


def test_an_id_in_two_files_is_refused_with_both_places(workshop: Workshop) -> None:
    workshop.write("quintain.toml", '[project]\ncases = ["one", "two"]\n')
    workshop.write("one/a.case.toml", ONE)
    workshop.write("two/a.case.toml", ONE)
    assert workshop.refused() == "two/a.case.toml:1: the case id `a` is used in one/a.case.toml:1 too"


def test_case_folders_inside_each_other_find_a_file_once(workshop: Workshop) -> None:
    workshop.write("quintain.toml", '[project]\ncases = ["cases", "cases/sub"]\n')
    workshop.write("cases/sub/a.case.toml", ONE)
    assert ids(workshop) == ids(workshop, "cases/sub") == ["sub/a"]


def test_a_name_that_is_no_text_asks_for_an_id(workshop: Workshop) -> None:
    name = b"cases/\xff.case.toml".decode("utf-8", "surrogateescape")
    assert "can't be an id" in workshop.refused(ONE, name)
    assert workshop.cases('id = "a"\n' + ONE, name)[0].id == "a"


def test_links_that_lead_in_circles_are_not_followed(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    workshop.write("cases/a.case.toml", ONE)
    (workshop.root / "cases/loop").symlink_to(Path())
    assert ids(workshop) == ["a"]
