"""Case files say what cases are, and are told where they are wrong."""

from __future__ import annotations

import pytest
from authoring.conftest import Workshop
from quintain.model.case import Assertion, Case
from quintain.model.limits import LimitOverrides
from quintain.model.plain import Plug

FULL = """\
id = "deep/thought"
prompt = "What is six times seven?"
persona = "impatient"
tags = ["smoke", "maths", "smoke"]
cluster = "hitchhiker"
fixtures = "../fixtures/a"
hidden = "../hidden/a"
protected = ["test_*.py"]
timeout_s = 90
driver = { name = "subprocess", config = { command = ["x"] } }
answerer = "deny"

[limits]
questions = 3

[[assertions]]
type = "answer_contains"
text = "42"

[[assertions]]
type = "command"
id = "tests"
argv = ["pytest"]
required = false
weight = 2
"""


def test_a_file_can_be_one_case_with_all_keys(workshop: Workshop) -> None:
    fixtures, hidden = workshop.folder("fixtures/a"), workshop.folder("hidden/a")
    case = workshop.case(FULL)
    assert case == Case(
        id="deep/thought",
        prompt="What is six times seven?",
        persona="impatient",
        tags=("smoke", "maths"),
        cluster="hitchhiker",
        fixtures=fixtures,
        hidden=hidden,
        protected=("test_*.py",),
        driver=Plug("subprocess", {"command": ["x"]}),
        answerer=Plug("deny"),
        limits=LimitOverrides(questions=3, timeout_s=90),
        assertions=(
            Assertion("answer_contains", {"text": "42"}),
            Assertion("command", {"argv": ["pytest"]}, id="tests", required=False, weight=2.0),
        ),
    )
    assert case.source == "cases/x.case.toml:1"


def test_the_id_is_the_path_from_the_case_folder_unless_one_is_given(workshop: Workshop) -> None:
    workshop.write("quintain.toml")
    workshop.write("cases/b.case.toml", 'prompt = "p"')
    workshop.write("cases/sub/a.case.toml", 'prompt = "p"')
    workshop.write("cases/sub/c.case.toml", 'id = "own"\nprompt = "p"')
    assert [case.id for case in workshop.discover().cases] == ["b", "own", "sub/a"]


MANY = """\
tags = ["all"]
protected = ["a"]
persona = "calm"
timeout_s = 10
limits = { questions = 1 }

[[assertions]]
type = "shared"

[[case]]
id = "one"
prompt = "1"
tags = ["first"]
limits = { idle_s = 5 }

[[case.assertions]]
type = "own"
min = 1

[[case]]
id = "two"
prompt = "2"
persona = "cross"
limits = { timeout_s = 20 }
"""


def test_a_file_can_be_many_cases_that_share_what_stands_above_the_first(workshop: Workshop) -> None:
    one, two = workshop.cases(MANY)
    assert (one.id, two.id) == ("x/one", "x/two")
    assert (one.tags, two.tags) == (("all", "first"), ("all",))
    assert one.protected == two.protected == ("a",)
    assert (one.persona, two.persona) == ("calm", "cross")
    assert one.limits == LimitOverrides(timeout_s=10, questions=1, idle_s=5)
    assert two.limits == LimitOverrides(timeout_s=20, questions=1)
    assert [assertion.type for assertion in one.assertions] == ["shared", "own"]
    assert [assertion.type for assertion in two.assertions] == ["shared"]
    assert (one.source, two.source) == ("cases/x.case.toml:10", "cases/x.case.toml:20")


def test_an_id_above_many_cases_is_what_theirs_begin_with(workshop: Workshop) -> None:
    (case,) = workshop.cases('id = "maths"\n[[case]]\nid = "add"\nprompt = "p"\n')
    assert case.id == "maths/add"


def test_a_prompt_can_stand_in_a_file_and_is_taken_byte_for_byte(workshop: Workshop) -> None:
    workshop.write("cases/p.md", b"\xef\xbb\xbfDo it.\r\n\r\n{name} \t\n")
    assert workshop.case('prompt_file = "p.md"').prompt == "\ufeffDo it.\r\n\r\n{name} \t\n"
    (own,) = workshop.cases('prompt_file = "p.md"\n[[case]]\nid = "a"\nprompt = "own"\n')
    assert own.prompt == "own"


def test_braces_stay_as_they_are_where_nothing_is_declared(workshop: Workshop) -> None:
    prompt = "print(f'{name} {project} {python!r} {{x}} {}')"
    assert workshop.case(f'prompt = "{prompt}"').prompt == prompt


def test_the_driver_of_a_case_may_name_the_project_and_python(workshop: Workshop) -> None:
    case = workshop.case('prompt = "{project}"\ndriver = { name = "d", config = { command = ["{project}/a"] } }\n')
    assert (case.prompt, case.driver) == ("{project}", Plug("d", {"command": [f"{workshop.root}/a"]}))


ONE = 'prompt = "p"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ONE + "timeout_sec = 5\n", ("x.case.toml:2: timeout_sec", "unknown key", "did you mean `timeout_s`?")),
        (ONE + "limits.timout_s = 5\n", ("x.case.toml:2: limits.timout_s", "did you mean `timeout_s`?")),
        (ONE + "zzz = 5\n", ("x.case.toml:2: zzz", "known keys", "prompt", "assertions")),
        (ONE + 'timeout_s = "60"\n', ("x.case.toml:2: timeout_s", "a number is wanted", "'60'")),
        (ONE + "timeout_s = 0\n", ("x.case.toml:2: timeout_s", "above 0", "not 0")),
        (ONE + "timeout_s = true\n", ("x.case.toml:2: timeout_s", "a number is wanted", "True")),
        (ONE + "\n[limits]\nquestions = 1.5\n", ("x.case.toml:4: limits.questions", "whole number", "1.5")),
        (ONE + "\n[limits]\nquestions = -1\n", ("x.case.toml:4: limits.questions", "at least 0", "-1")),
        (ONE + "limits = 3\n", ("x.case.toml:2: limits", "table is wanted", "3")),
        (ONE + 'tags = "smoke"\n', ("x.case.toml:2: tags", "a list is wanted", "'smoke'")),
        (ONE + 'tags = [\n  "a",\n  3,\n]\n', ("x.case.toml:4: tags.1", "text is wanted", "3")),
        (ONE + '[[assertions]]\ntyp = "x"\n', ("x.case.toml:2: assertions.0", "`type` is missing")),
        (ONE + '[[assertions]]\ntype = "x"\nweight = -1\n', ("x.case.toml:4: assertions.0.weight", "above 0", "-1")),
        (ONE + '[[assertions]]\ntype = "x"\nrequired = 1\n', ("x.case.toml:4: assertions.0.required", "true or false")),
        (ONE + "assertions = [3]\n", ("x.case.toml:2: assertions.0", "`type` is wanted", "3")),
        (ONE + '[assertions]\ntype = "x"\n', ("x.case.toml:2: assertions", "a list is wanted")),
        (ONE + "driver = 3\n", ("x.case.toml:2: driver", "`name` and `config`", "3")),
        (ONE + 'driver = { nam = "x" }\n', ("x.case.toml:2: driver", "`name`")),
        (ONE + 'driver = { name = "x", command = ["a"] }\n', ("x.case.toml:2: driver.command", "stands in `config`")),
        (ONE + 'prompt_file = "x"\n', ("x.case.toml:2: prompt_file", "said twice")),
        (ONE + "timeout_s = 1\nlimits.timeout_s = 2\n", ("x.case.toml:2: timeout_s", "said twice")),
        ('prompt = " "\n', ("x.case.toml:1: prompt", "empty")),
        ('prompt_file = "none.md"\n', ("x.case.toml:1: prompt_file", "`none.md` doesn't exist")),
        ("", ("x.case.toml:1", "`prompt` or `prompt_file`")),
        (ONE + 'id = "a\\nb"\n', ("x.case.toml:2: id", "invisible")),
        (ONE + 'id = "../a"\n', ("x.case.toml:2: id", "slashes")),
        (ONE + "id = 3\n", ("x.case.toml:2: id", "text is wanted", "3")),
        ("[[case]]\n" + ONE, ("x.case.toml:1", "`id` is missing")),
        ('id = 3\n[[case]]\nid = "a"\n' + ONE, ("x.case.toml:1: id", "text is wanted", "3")),
        ("[[cases]]\n" + ONE, ("x.case.toml:1: cases", "did you mean `case`?")),
        (ONE + "[matrx]\na = [1]\n", ("x.case.toml:2: matrx", "did you mean `matrix`?")),
        ('[[case]]\nid = "a"\n' + ONE + "[[case.case]]\n", ("x.case.toml:4: case.0.case", "other cases")),
        ("[case]\n" + ONE, ("x.case.toml:1: case", "[[case]]")),
        ("case = [1]\n", ("x.case.toml:1: case", "[[case]]")),
    ],
)
def test_what_is_wrong_is_named_with_file_line_key_value_and_what_is_allowed(
    workshop: Workshop, text: str, words: tuple[str, ...]
) -> None:
    message = workshop.refused(text)
    for word in words:
        assert word in message


@pytest.mark.parametrize("key", ["fixtures", "hidden"])
def test_folders_must_be_there_and_be_folders(workshop: Workshop, key: str) -> None:
    assert f"cases/x.case.toml:2: {key}: `nope` doesn't exist" in workshop.refused(f'{ONE}{key} = "nope"\n')
    workshop.write("cases/file")
    assert f"cases/x.case.toml:2: {key}: `file` is no folder" in workshop.refused(f'{ONE}{key} = "file"\n')


def test_fixtures_must_not_show_the_agent_how_it_is_graded(workshop: Workshop) -> None:
    assert "x.case.toml:2: fixtures: the fixtures contain this case file" in workshop.refused(ONE + 'fixtures = ".."\n')
    workshop.folder("cases/f/h")
    message = workshop.refused(ONE + 'fixtures = "f"\nhidden = "f/h"\n')
    assert "x.case.toml:3: hidden: the fixtures contain the hidden files" in message


def test_everything_that_is_wrong_in_all_files_is_said_at_once(workshop: Workshop) -> None:
    workshop.write("cases/a.case.toml", "promt = 1\ntags = 3\n")
    workshop.write("cases/b.case.toml", 'tags = [1]\n[[case]]\nid = "a"\n[[case]]\nid = "b"\nprompt = "p"\nx = 1\n')
    message = workshop.refused("=")
    assert message.count("did you mean `prompt`") == 1
    for place in ("a.case.toml:2: tags:", "b.case.toml:1: tags.0", "b.case.toml:7: case.1.x", "x.case.toml:1:1"):
        assert message.count(place) == 1


def test_a_place_can_be_told_for_any_key_later(workshop: Workshop) -> None:
    workshop.write("cases/x.case.toml", MANY)
    where = workshop.discover().sources.where
    assert where("x/one") == "cases/x.case.toml:10: case.0"
    assert where("x/one", ("assertions", 0, "type")) == "cases/x.case.toml:8: assertions.0.type"
    assert where("x/one", ("assertions", 1, "min")) == "cases/x.case.toml:18: case.0.assertions.0.min"
    assert where("x/one", ("assertions", 1, "max")) == "cases/x.case.toml:16: case.0.assertions.0.max"
    assert where("x/one", ("tags", 1)) == "cases/x.case.toml:13: case.0.tags.0"
    assert where("x/one", ("limits", "idle_s")) == "cases/x.case.toml:14: case.0.limits.idle_s"
    assert where("x/one", ("limits", "questions")) == "cases/x.case.toml:5: limits.questions"
    assert where("x/one", ("limits", "timeout_s")) == "cases/x.case.toml:4: timeout_s"
    assert where("x/two", ("persona",)) == "cases/x.case.toml:23: case.1.persona"
    assert where("nobody", ("tags", 0)) == "case nobody: tags.0"
