"""Case files in Python."""

from __future__ import annotations

import sys

import pytest
from authoring.conftest import Workshop
from quintain.model.case import Assertion, Case
from quintain.model.limits import LimitOverrides
from quintain.model.plain import Plug

HEAD = "from quintain import Assertion, Case, LimitOverrides, Plug\n"
FILE = "cases/x.case.py"


def test_cases_can_be_a_list_or_a_function(workshop: Workshop) -> None:
    workshop.folder("cases/fx")
    (case,) = workshop.cases(
        HEAD + "cases = [Case('a', 'p', fixtures='fx', tags=['t'], driver=Plug('d', {'x': 1}), "
        "limits=LimitOverrides(timeout_s=5), assertions=[Assertion('t', {'min': 1}, weight=2)])]\n",
        FILE,
    )
    assert case == Case(
        "x/a",
        "p",
        fixtures=workshop.root / "cases/fx",
        tags=("t",),
        driver=Plug("d", {"x": 1}),
        limits=LimitOverrides(timeout_s=5),
        assertions=(Assertion("t", {"min": 1}, weight=2),),
    )
    assert case.source == "cases/x.case.py:2"
    cases = workshop.cases(HEAD + "\ndef cases():\n    for n in range(3):\n        yield Case(f'c{n}', 'p')\n", FILE)
    assert [case.id for case in cases] == ["x/c0", "x/c1", "x/c2"]
    assert cases[0].source == "cases/x.case.py:3"


def test_files_with_equal_names_beside_them_don_t_meet(workshop: Workshop) -> None:
    for folder in ("a", "b"):
        workshop.write(f"cases/{folder}/helper.py", f"prompt = 'from {folder}'\n")
        workshop.write(f"cases/{folder}/x.case.py", HEAD + "import helper\ncases = [Case('c', helper.prompt)]\n")
    before, path = set(sys.modules), list(sys.path)
    assert [case.prompt for case in workshop.discover().cases] == ["from a", "from b"]
    assert "helper" not in sys.modules
    assert not any("case_file" in name for name in set(sys.modules) - before)
    assert sys.path == path


def test_what_a_file_prints_is_not_part_of_the_output(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    workshop.cases("print('hello')\ncases = []\n", FILE)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "cases/x.case.py: it has no `cases`"),
        ("cases = 3\n", "cases/x.case.py:1: `cases` is of type int"),
        ("\ncases = 'abc'\n", "cases/x.case.py:2: `cases` is of type str"),
        ("async def cases():\n    return []\n", "cases/x.case.py:1: `cases` is of type coroutine"),
        ("cases = ['a']\n", "cases/x.case.py:1: cases.0: it is of type str, not a Case"),
        ("def f(:\n", "cases/x.case.py:1: this is not Python: invalid syntax"),
        (b"x = '\xff'\n", "cases/x.case.py:1: this is not Python"),
        ("x = 1\n1 / 0\n", "cases/x.case.py:2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "cases/x.case.py:2: SystemExit: 3"),
        ("import json\n\ndef cases():\n    json.loads('x')\n", "cases/x.case.py:4: JSONDecodeError: Expecting value"),
        ("def cases():\n    yield 1 / 0\n", "cases/x.case.py:2: ZeroDivisionError"),
        ("import nowhere_at_all\n", "cases/x.case.py:1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        (
            HEAD + "cases = [Assertion('t', weight=-1)]\n",
            "x.case.py:2: weight: a number above 0 is wanted here, not -1",
        ),
        (HEAD + "cases = [Case('a', 'p', tags='t')]\n", "x.case.py:2: cases.0.tags: a list is wanted here, not 't'"),
        (HEAD + "cases = [Case('a', 3)]\n", "x.case.py:2: cases.0.prompt: text is wanted here, not 3"),
        (HEAD + "cases = [Case('a', '')]\n", "x.case.py:2: cases.0.prompt: the prompt is empty"),
        (HEAD + "cases = [Case('a\\n', 'p')]\n", "x.case.py:2: cases.0.id: 'x/a\\n' can't be an id"),
        (HEAD + "cases = [Case('a', 'p', hidden='no')]\n", "x.case.py:2: cases.0.hidden: `no` doesn't exist"),
        (HEAD + "cases = [Case('a', 'p', driver=print)]\n", "x.case.py:2: cases.0.driver: a name, or a table"),
        (HEAD + "cases = [Case('a', 'p', assertions=[print])]\n", "x.case.py:2: cases.0.assertions.0: a table with"),
        (
            HEAD + "cases = [Case('a', 'p', assertions=[Assertion(3)])]\n",
            "x.case.py:2: cases.0.assertions.0.type: text",
        ),
        (
            HEAD + "from quintain import check\ncases = [Case('a', 'p', assertions=[check(print)])]\n",
            "x.case.py:3: cases.0.assertions.0: an assertion that is a function works in programs only",
        ),
    ],
)
def test_what_goes_wrong_in_a_file_is_said_with_its_line(workshop: Workshop, text: str | bytes, words: str) -> None:
    message = workshop.refused(text, FILE)
    assert words in message
    assert "Traceback" not in message


def test_a_place_can_be_told_later(workshop: Workshop) -> None:
    workshop.write(FILE, HEAD + "\ncases: list[Case] = [Case('a', 'p'), Case('b', 'p')]\n")
    where = workshop.discover().sources.where
    assert where("x/b", ("assertions", 0, "min")) == "cases/x.case.py:3: cases.1.assertions.0.min"
