"""The project file says where cases are and how they are run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from authoring.conftest import Workshop
from quintain.authoring import find_project, load_project, open_project, profile_of
from quintain.errors import AuthoringError, UsageError
from quintain.model.limits import Limits, Retry
from quintain.model.plain import Plug
from quintain.model.project import Profile, Project
from quintain.model.trial import Isolation

FULL = """\
sinks = ["console", { name = "junit", config = { path = "out.xml" } }]

[project]
name = "demo"
cases = ["cases", "more"]
store = "kept"
plugins = { "driver:x" = "dist-x" }

[defaults]
profile = "slow"
repeat = 3
concurrency = 2

[profiles.fast]
driver = { name = "subprocess", config = { command = ["{python}", "{project}/a.py", "{prompt}"], env = { A = "1" } } }

[profiles.fast.limits]
timeout_s = 60
questions = 0

[profiles.fast.retry]
attempts = 1
base_s = { disk = 0.5 }

[profiles.fast.isolation]
sandbox = "bwrap"
pass_env = ["LANG"]
readable = ["lib", "../x", "/opt"]
secrets = ["TOKEN"]
env = { MODE = "x" }

[profiles.slow]
extends = "fast"
driver = { config = { mode = "text", env = { B = "2" } } }
answerer = { name = "scripted", config = { file = "{project}/answers" } }
limits = { timeout_s = 600 }
isolation = { network = false, env = { MORE = "y" } }

[profiles.other]
extends = "slow"
driver = "echo"
answerer = "deny"
"""


@pytest.fixture
def full(workshop: Workshop) -> Project:
    workshop.folder("cases")
    workshop.folder("more")
    workshop.write("quintain.toml", FULL)
    return workshop.project().project


def test_a_project_file_says_it_all(workshop: Workshop, full: Project) -> None:
    root = workshop.root
    assert (full.root, full.name, full.store) == (root, "demo", root / "kept")
    assert full.case_roots == (root / "cases", root / "more")
    assert (full.repeat, full.concurrency, full.default_profile) == (3, 2, "slow")
    assert full.choices == {"driver:x": "dist-x"}
    assert full.sinks == (Plug("console"), Plug("junit", {"path": "out.xml"}))
    assert list(full.profiles) == ["fast", "slow", "other"]
    command = [sys.executable, f"{root}/a.py", "{prompt}"]
    assert full.profiles["fast"] == Profile(
        "fast",
        Plug("subprocess", {"command": command, "env": {"A": "1"}}),
        Plug("deny"),
        Limits(total_s=60, questions=0),
        Retry(attempts=1, base_s={**Retry().base_s, "disk": 0.5}),
        Isolation(
            "bwrap",
            readable=(root / "lib", root / "../x", Path("/opt")),
            pass_env=("LANG",),
            secrets=("TOKEN",),
            env={"MODE": "x"},
        ),
    )


def test_a_profile_extends_another_tables_merge_and_the_rest_is_replaced(workshop: Workshop, full: Project) -> None:
    fast, slow, other = (full.profiles[name] for name in ("fast", "slow", "other"))
    assert slow.driver == Plug(
        "subprocess", {"command": fast.driver.config["command"], "env": {"A": "1", "B": "2"}, "mode": "text"}
    )
    assert slow.answerer == Plug("scripted", {"file": f"{workshop.root}/answers"})
    assert slow.limits == Limits(total_s=600, questions=0)
    assert slow.isolation == Isolation(
        "bwrap",
        network=False,
        readable=fast.isolation.readable,
        pass_env=("LANG",),
        secrets=("TOKEN",),
        env={"MODE": "x", "MORE": "y"},
    )
    assert (other.driver, other.answerer, other.limits) == (Plug("echo"), Plug("deny"), slow.limits)


def test_a_profile_without_a_driver_serves_others_to_extend(workshop: Workshop) -> None:
    workshop.write(
        "quintain.toml", "[profiles.base]\nlimits.timeout_s = 9\n[profiles.a]\nextends = 'base'\ndriver = 'x'\n"
    )
    project = workshop.project().project
    assert list(project.profiles) == ["a"]
    assert profile_of(project).limits.total_s == 9


def test_a_place_can_be_told_also_for_what_is_inherited(workshop: Workshop, full: Project) -> None:
    where = workshop.project().sources.where
    assert (
        where(("profiles", "fast", "driver", "config", "mode")) == "quintain.toml:15: profiles.fast.driver.config.mode"
    )
    assert (
        where(("profiles", "slow", "driver", "config", "mode")) == "quintain.toml:34: profiles.slow.driver.config.mode"
    )
    assert where(("profiles", "other", "limits", "questions")) == "quintain.toml:19: profiles.fast.limits.questions"
    assert where(("sinks", 1, "config", "path")) == "quintain.toml:1: sinks.1.config.path"
    assert where(("defaults", "repeat")) == "quintain.toml:11: defaults.repeat"


def test_it_is_found_from_a_folder_below_and_from_a_file(workshop: Workshop) -> None:
    file = workshop.write("quintain.toml")
    deep = workshop.folder("a/b/c")
    case = workshop.write("a/b/x.case.toml")
    assert find_project(deep) == find_project(case) == find_project(deep / "..") == file
    inner = workshop.write("a/quintain.toml")
    assert find_project(deep) == inner


def test_without_a_file_there_are_defaults_or_an_error_that_says_where_it_looked(workshop: Workshop) -> None:
    deep = workshop.folder("a/b")
    project = open_project(deep).project
    assert project == Project(deep, "b", (deep,), deep / ".quintain")
    (deep / "cases").mkdir()
    assert open_project(deep).project.case_roots == (deep / "cases",)
    with pytest.raises(AuthoringError) as caught:
        open_project(deep, required=True)
    for folder in (deep, workshop.root, Path("/")):
        assert f"{folder}," in f"{caught.value},".replace(";", ",")
    with pytest.raises(UsageError, match="there is no file or folder nope"):
        open_project("nope")


def test_a_project_can_be_a_link_to_a_file_elsewhere(workshop: Workshop) -> None:
    target = workshop.write("shared/common.toml")
    workshop.folder("mine")
    (workshop.root / "mine/quintain.toml").symlink_to(target)
    assert open_project(workshop.root / "mine").project.root == workshop.root / "mine"


def test_which_profile_runs(workshop: Workshop) -> None:
    def chosen(text: str, name: str | None = None) -> str:
        return profile_of(load_project(workshop.write("quintain.toml", text)).project, name).name

    one, two = "[profiles.a]\ndriver = 'x'\n", "[profiles.a]\ndriver = 'x'\n[profiles.{}]\ndriver = 'y'\n"
    assert chosen(one) == "a"
    assert chosen(two.format("default")) == "default"
    assert chosen("[defaults]\nprofile = 'a'\n" + two.format("default")) == "a"
    assert chosen(two.format("default"), "a") == "a"
    with pytest.raises(UsageError, match="it isn't clear which profile"):
        chosen(two.format("b"))
    with pytest.raises(UsageError, match="did you mean `default`"):
        chosen(two.format("default"), "defualt")
    with pytest.raises(UsageError, match="no profile says how"):
        chosen("")


A = "[profiles.a]\n"
X = A + "driver = 'x'\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[profile.a]\n", "quintain.toml:1: profile: unknown key `profile`\n  did you mean `profiles`?"),
        ("[project]\nnam = 'x'\n", "quintain.toml:2: project.nam: unknown key `nam`\n  did you mean `name`?"),
        ("[project]\ncases = 'x'\n", "quintain.toml:2: project.cases: a list is wanted here, not 'x'"),
        ("[project]\ncases = [\n'.',\n'x']\n", "quintain.toml:4: project.cases.1: `x` is no folder here"),
        ("[project]\nstore = '.'\n", "quintain.toml:2: project.store: `.` holds the project or its cases"),
        ("[project]\nstore = 'cases'\n", "quintain.toml:2: project.store: `cases` holds the project or its cases"),
        ("[project.plugins]\n'drivr:x' = 'd'\n", "quintain.toml:2: project.plugins.drivr:x: `drivr:x` is no kind and"),
        ("[project.plugins]\nx = 'd'\n", "quintain.toml:2: project.plugins.x: `x` is no kind and name"),
        ("[defaults]\nrepeat = 0\n", "quintain.toml:2: defaults.repeat: a number of at least 1 is wanted here, not 0"),
        ("[defaults]\nconcurrency = 2.5\n", "quintain.toml:2: defaults.concurrency: a whole number is wanted"),
        ("[defaults]\nprofile = 'b'\n" + X, "quintain.toml:2: defaults.profile: there is no profile `b`"),
        ("[profiles]\na = 3\n", "quintain.toml:2: profiles.a: a table is wanted here, not 3"),
        (A, "quintain.toml:1: profiles.a: it isn't said which driver runs the agent"),
        (A + "driver = { config = {} }\n", "quintain.toml:2: profiles.a.driver: it isn't said which driver"),
        (X + "answerer = { config = {} }\n", "quintain.toml:3: profiles.a.answerer: `name` is missing"),
        (A + "driver = { name = 'x', command = 1 }\n", "quintain.toml:2: profiles.a.driver.command: unknown key"),
        (X + "limits.total_s = 5\n", "quintain.toml:3: profiles.a.limits.total_s: unknown key `total_s`"),
        (X + "limits.line_bytes = 0\n", "quintain.toml:3: profiles.a.limits.line_bytes: a number above 0"),
        (X + "retry.attempts = 0\n", "quintain.toml:3: profiles.a.retry.attempts: a number of at least 1"),
        (X + "retry.base_s.disc = 1\n", "quintain.toml:3: profiles.a.retry.base_s.disc: `disc` is no class of failure"),
        (X + "retry.base_s.disk = -1\n", "quintain.toml:3: profiles.a.retry.base_s.disk: a number of at least 0"),
        (X + "isolation.netwrk = true\n", "quintain.toml:3: profiles.a.isolation.netwrk: unknown key"),
        (X + "isolation.env.A = 1\n", "quintain.toml:3: profiles.a.isolation.env.A: text is wanted here, not 1"),
        (X + "extends = 'b'\n", "quintain.toml:3: profiles.a.extends: there is no profile `b`"),
        (X + "extends = 'a'\n", "quintain.toml:3: profiles.a.extends: it extends itself: a -> a"),
        ("[profiles.'a b']\ndriver = 'x'\n", "quintain.toml:1: profiles.a b: `a b` can't be the name of a profile"),
        ("[[sinks]]\nconfig = {}\n", "quintain.toml:1: sinks.0: `name` is missing"),
        ("sinks = 'x'\n", "quintain.toml:1: sinks: a list is wanted here, not 'x'"),
        (X + "x = 1979-05-27\n", "quintain.toml:3: profiles.a.x: 1979-05-27 is a date or time"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(workshop: Workshop, text: str, words: str) -> None:
    assert words in workshop.project_refused(text)


def test_circles_of_profiles_are_refused_once_for_each_in_it(workshop: Workshop) -> None:
    text = "".join(f"[profiles.{a}]\nextends = '{b}'\ndriver = 'x'\n" for a, b in ("ab", "bc", "cb"))
    message = workshop.project_refused(text)
    assert message.splitlines() == [
        "quintain.toml:5: profiles.b.extends: it extends itself: b -> c -> b",
        "quintain.toml:8: profiles.c.extends: it extends itself: c -> b -> c",
    ]


def test_a_fault_that_is_inherited_is_said_once_where_it_stands(workshop: Workshop) -> None:
    message = workshop.project_refused(A + "answerer = { config = {} }\ndriver = 'x'\n[profiles.b]\nextends = 'a'\n")
    assert message == "quintain.toml:2: profiles.a.answerer: `name` is missing"
