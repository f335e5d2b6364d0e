"""One case becomes many by a matrix or a dataset; names in braces are replaced only where they are declared."""

from __future__ import annotations

import json
from typing import Any

import pytest
from authoring.conftest import Workshop
from hypothesis import given
from hypothesis import strategies as st
from quintain.authoring._placeholders import Placeholders
from quintain.model.plain import Plug

MATRIX = """\
prompt = "Write {lang} of size {size}: {{lang}} {other} {lang!r}"
tags = ["{lang}", "size-{size}"]
timeout_s = "{size}"
driver = { name = "d", config = { size = "{size}", text = "{size!s}", argv = ["{python}", "-x{lang}"] } }

[matrix]
size = [1, 2]
lang = ["py", "js"]

[[assertions]]
type = "t"
min = "{size}"
text = "{size!s} of {lang}"
deep = [{ a = "{size}" }]
"""


def test_a_matrix_makes_every_combination(workshop: Workshop) -> None:
    cases = workshop.cases(MATRIX)
    assert [case.id for case in cases] == [
        "x[lang=js,size=1]",
        "x[lang=js,size=2]",
        "x[lang=py,size=1]",
        "x[lang=py,size=2]",
    ]
    case = cases[3]
    assert case.prompt == "Write py of size 2: {py} {other} {lang!r}"
    assert case.tags == ("py", "size-2")
    assert case.parameters == {"lang": "py", "size": 2}
    assert case.limits.timeout_s == 2.0
    assert case.assertions[0].config == {"min": 2, "text": "2 of py", "deep": [{"a": 2}]}
    assert case.driver is not None
    config = dict(case.driver.config)
    assert config.pop("argv")[1] == "-xpy"
    assert config == {"size": 2, "text": "2"}


def test_values_that_are_no_plain_words_are_numbered_in_ids(workshop: Workshop) -> None:
    cases = workshop.cases('prompt = "{q}"\n[matrix]\nq = ["What?", "a/b", "ok", 1.5, true, [1]]\n')
    assert [case.id for case in cases] == ["x[q=1.5]", "x[q=no.1]", "x[q=no.2]", "x[q=no.6]", "x[q=ok]", "x[q=true]"]
    assert {case.prompt for case in cases} == {"What?", "a/b", "ok", "1.5", "true", "[1]"}


def test_an_id_that_names_a_parameter_is_the_whole_id(workshop: Workshop) -> None:
    cases = workshop.cases('id = "all/{n}"\nprompt = "{n}"\nmatrix.n = [1, 2]\n')
    assert [case.id for case in cases] == ["all/1", "all/2"]
    cases = workshop.cases('id = "p"\nprompt = "{n}"\nmatrix.n = [1, 2]\n[[case]]\nid = "c{n}"\n[[case]]\nid = "d"\n')
    assert [case.id for case in cases] == ["p/c1", "p/c2", "p/d[n=1]", "p/d[n=2]"]


def test_ids_that_come_out_equal_are_refused_with_both_places(workshop: Workshop) -> None:
    message = workshop.refused('id = "{n}"\nprompt = "{n}{m}"\nmatrix = { n = [1], m = [1, 2] }\n')
    assert message == "cases/x.case.toml:1: the case id `1` is used in cases/x.case.toml:1 too"


@pytest.mark.parametrize(
    ("name", "rows"),
    [("d.jsonl", '{"n": "a", "t": "1"}\n\n{"n": "b", "t": "2"}\n'), ("d.csv", "n,t\r\na,1\r\n\r\nb,2\r\n")],
)
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_each_row_of_a_dataset_is_a_case(workshop: Workshop, name: str, rows: str, bom: str) -> None:
    workshop.write(f"data/{name}", bom + rows)
    text = f'prompt = "{{t}}"\ndataset.file = "../data/{name}"\n'
    assert [(case.id, case.prompt) for case in workshop.cases(text)] == [("x[row=1]", "1"), ("x[row=2]", "2")]
    assert [case.id for case in workshop.cases('id = "{n}"\n' + text)] == ["a", "b"]
    both = workshop.cases(text.replace("{t}", "{t}{k}") + "matrix.k = [7, 8]\n")
    assert [case.id for case in both] == ["x[row=1,k=7]", "x[row=1,k=8]", "x[row=2,k=7]", "x[row=2,k=8]"]


def test_values_of_json_lines_keep_their_types_and_cells_are_text(workshop: Workshop) -> None:
    workshop.write("cases/d.jsonl", '{"a": 1, "b": [true, null], "c": "\\ud83d\\ude00 {a}"}\n')
    workshop.write("cases/d.csv", 'a,b\n1,"x, ""y""\nz"\n')
    base = 'prompt = "{a}{c}"\n[[assertions]]\ntype = "t"\na = "{a}"\nb = "{b}"\n[dataset]\nfile = "d.jsonl"\n'
    case = workshop.case(base)
    assert (case.prompt, case.assertions[0].config) == ("1\U0001f600 {a}", {"a": 1, "b": [True, None]})
    case = workshop.case(base.replace("jsonl", "csv").replace("{c}", ""))
    assert case.assertions[0].config == {"a": "1", "b": 'x, "y"\nz'}


def test_each_row_may_have_its_own_prompt_file_and_fixtures(workshop: Workshop) -> None:
    for lang in ("py", "js"):
        workshop.write(f"cases/{lang}.md", f"{lang}: {{lang}} {{x}}")
        workshop.folder(f"fixtures/{lang}")
    cases = workshop.cases('prompt_file = "{lang}.md"\nfixtures = "../fixtures/{lang}"\nmatrix.lang = ["js", "py"]\n')
    assert [case.prompt for case in cases] == ["js: js {x}", "py: py {x}"]
    assert [case.fixtures for case in cases] == [workshop.root / "fixtures/js", workshop.root / "fixtures/py"]


def test_a_parameter_of_its_own_comes_before_the_project(workshop: Workshop) -> None:
    case = workshop.case(
        'prompt = "{python}"\ndriver = { name = "d", config = { v = "{python}" } }\nmatrix.python = ["3.11"]\n'
    )
    assert (case.prompt, case.driver) == ("3.11", Plug("d", {"v": "3.11"}))


ONE = 'prompt = "{n}"\n'
DATASET = ONE + 'dataset.file = "d.jsonl"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ONE + "matrix = 3\n", ("x.case.toml:2: matrix: a table is wanted", "3")),
        (ONE + "matrix.n = 3\n", ("x.case.toml:2: matrix.n: a list of values is wanted", "3")),
        (ONE + "matrix.n = []\n", ("x.case.toml:2: matrix.n: a list of values is wanted", "an empty list")),
        (ONE + 'matrix."a{" = [1]\n', ("x.case.toml:2: matrix.a{", "the name of a parameter")),
        (ONE + "[matrix]\nn = [1]\nm = [2]\n", ("x.case.toml:4: matrix.m: the parameter `m` is used nowhere", "{m}")),
        (ONE + f"matrix.n = {list(range(400))}\nmatrix.m = {list(range(400))}\n", ("matrix: it has 160000 combin",)),
        (ONE + 'timeout_s = "{n}"\nmatrix.n = [1, "x"]\n', ("x.case.toml:2: timeout_s: a number is wanted", "'x'")),
        (ONE + "dataset = 3\n", ("x.case.toml:2: dataset: a table with `file`",)),
        (ONE + "dataset = {}\n", ("x.case.toml:2: dataset.file: `file` must be",)),
        (ONE + 'dataset.fil = "x"\n', ("x.case.toml:2: dataset.fil: unknown key `fil`", "did you mean `file`?")),
        (ONE + 'dataset.file = "no.csv"\n', ("x.case.toml:2: dataset.file: `no.csv` doesn't exist",)),
        (
            ONE + 'dataset.file = "x.case.toml"\n',
            ("x.case.toml:2: dataset.file: `x.case.toml` is no dataset", ".jsonl or .csv"),
        ),
        (DATASET + "matrix.n = [1]\n", ("x.case.toml:3: matrix.n: `n` is a column",)),
        (DATASET.replace("{n}", "{N}"), ("x.case.toml:2: dataset: the dataset is used nowhere", "{n}")),
    ],
)
def test_parameters_that_make_no_sense(workshop: Workshop, text: str, words: tuple[str, ...]) -> None:
    workshop.write("cases/d.jsonl", '{"n": 1, "s": 2}\n')
    message = workshop.refused(text)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("d.jsonl", "", "d.jsonl: it has no rows"),
        ("d.jsonl", '{"n": 1}\n{"n": }\n', "d.jsonl:2: this is not a line of JSON: Expecting value"),
        ("d.jsonl", '{"n": 1}\n\n[1]\n', "d.jsonl:3: an object is wanted in each line, not [1]"),
        ("d.jsonl", '{"n": NaN}\n', "d.jsonl:1: this is not a line of JSON: NaN"),
        ("d.jsonl", '{"n": 1, "n": 2}\n', "d.jsonl:1: this is not a line of JSON: `n` stands twice"),
        ("d.jsonl", '{"n": 1}\n{"m": 1}\n', "d.jsonl:2: `n` is missing"),
        ("d.jsonl", '{"n": 1}\n{"n": 1, "m": 1}\n', "d.jsonl:2: `m` stands in no row above"),
        ("d.jsonl", '{"n": 1}\n{"n": "\udcff"}\n', "d.jsonl:2: the byte 0xff is no UTF-8"),
        ("d.jsonl", '{"": 1}\n', "d.jsonl:1: the name of a parameter has at least one character"),
        ("d.jsonl", "[" * 100_000, "d.jsonl:1: this is not a line of JSON"),
        ("d.csv", "n\n", "d.csv: it has no rows"),
        ("d.csv", "n,n\n1,2\n", "d.csv:1: a name stands twice"),
        ("d.csv", 'n,m\n1,"a\nb"\n3\n', "d.csv:4: it has 1 cells, not 2"),
        ("d.csv", 'n\n"a" b\n', "d.csv:2: this is not CSV"),
        ("d.csv", 'n\n1\n"never\nends\n', "d.csv:3: this is not CSV"),
        ("d.csv", "n,\n1,2\n", "d.csv:1: the name of a parameter has at least one character"),
        ("d.csv", f"n\n1\n{'x' * 140_000}\n", "d.csv:3: this is not CSV: field larger"),
    ],
)
def test_rows_that_cant_be_used_are_named_with_their_line(workshop: Workshop, name: str, rows: str, words: str) -> None:
    workshop.write(f"cases/{name}", rows.encode("utf-8", "surrogateescape"))
    assert words in workshop.refused(ONE + f'dataset.file = "{name}"\n')


def test_two_rows_with_one_id_are_both_named(workshop: Workshop) -> None:
    workshop.write("cases/d.csv", "n\na\nb\na\n")
    message = workshop.refused('id = "{n}"\n' + ONE + 'dataset.file = "d.csv"\n')
    place = "cases/x.case.toml:1 (cases/d.csv:{})"
    assert message == f"{place.format(4)}: the case id `a` is used in {place.format(2)} too"


def test_ten_thousand_rows_say_what_is_wrong_once(workshop: Workshop) -> None:
    workshop.write("cases/d.jsonl", "".join(f"{json.dumps({'n': number})}\n" for number in range(10_000)))
    assert workshop.refused('prompt = "{n}"\npersna = 1\ndataset.file = "d.jsonl"\n').count("\n") == 1


NAMES = st.sampled_from(["a", "ab", "b c", "é"])


@given(
    st.dictionaries(NAMES, st.text(st.sampled_from("{}ab!s"), max_size=6)),
    st.text(st.sampled_from("{}ab c!s"), max_size=20),
)
def test_what_comes_in_for_a_placeholder_is_not_looked_at_again(values: dict[str, str], text: str) -> None:
    marks = {name: f"\x00{number}\x00" for number, name in enumerate(values)}
    expected = Placeholders(marks).text(text)
    for name, mark in marks.items():
        expected = expected.replace(mark, values[name])
    assert Placeholders(values).text(text) == expected


@given(
    st.recursive(st.text(st.sampled_from("{}ab")), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_without_declared_names_nothing_changes(data: Any) -> None:
    assert Placeholders({}).fill(data) == data
    assert Placeholders({"other": 1}).fill(data) == data
