"""Plugins: listed without being imported, each broken on its own, chosen where two claim one name."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import quintain
from quintain import AnswererSpec, AssertionSpec, DriverSpec, SinkSpec, Verdict
from quintain.errors import PluginError
from quintain.model.plain import PluginUse
from quintain.plugins import KINDS, Checked, Plugins

Install = Callable[..., Path]

HEAD = """
from contextlib import asynccontextmanager
from quintain import AnswererSpec, AssertionSpec, DriverSpec, SinkSpec, Verdict, hookimpl

@asynccontextmanager
async def opened(config, context):
    yield
"""


@asynccontextmanager
async def opened(config: object, launch: object) -> AsyncIterator[Any]:
    yield None


def given(name: str = "mine", **options: Any) -> DriverSpec[Any]:
    return DriverSpec(name, opened, **options)


def the_error(call: Callable[[], object]) -> PluginError:
    with pytest.raises(PluginError) as caught:
        call()
    return caught.value


def of_test(found: tuple[Checked, ...], *distributions: str) -> dict[str, Checked]:
    return {one.plugin.name: one for one in found if one.plugin.distribution in distributions}


# listing


def test_plugins_are_listed_named_and_recorded_without_being_imported(install: Install) -> None:
    install("noisy", {"quintain.driver": {"loud": "noisy_module"}}, {"noisy_module": "raise RuntimeError('imported')"})
    plugins = Plugins.from_entry_points()
    assert "loud" in plugins.names("driver")
    assert plugins.use("driver", "loud") == PluginUse("driver", "loud", "noisy", "1.0")
    assert "noisy_module" not in sys.modules


def test_only_the_plugin_that_is_used_is_imported(install: Install, install_driver: Any) -> None:
    install("noisy", {"quintain.driver": {"loud": "noisy_module"}}, {"noisy_module": "raise RuntimeError('imported')"})
    install_driver("quiet", "soft")
    assert Plugins.from_entry_points().driver("soft").summary == "of quiet"
    assert "quiet_module" in sys.modules
    assert "noisy_module" not in sys.modules


def test_a_plugin_is_imported_once(install: Install) -> None:
    code = (
        HEAD
        + "loads = []\n@hookimpl\ndef quintain_driver():\n    loads.append(1)\n    return DriverSpec('once', opened)\n"
    )
    install("single", {"quintain.driver": {"once": "single_module"}}, {"single_module": code})
    plugins = Plugins.from_entry_points()
    assert plugins.driver("once") is plugins.driver("once")
    assert sys.modules["single_module"].loads == [1]


def test_the_core_brings_its_own_answerer() -> None:
    plugins = Plugins.from_entry_points()
    assert plugins.answerer("deny").name == "deny"
    assert plugins.use("answerer", "deny").distribution == "quintain"


def test_every_kind_of_plugin_is_found_by_its_group_and_loaded_by_its_hook(install: Install) -> None:
    code = (
        HEAD
        + """
@hookimpl
def quintain_driver():
    return DriverSpec("all-d", opened)

@hookimpl
def quintain_answerer():
    return AnswererSpec("all-a", opened)

@hookimpl
def quintain_assertion():
    yield AssertionSpec("all-x", lambda config, evidence: Verdict.passed())
    yield AssertionSpec("all-y", lambda config, evidence: Verdict.passed())

@hookimpl
def quintain_sink():
    return [SinkSpec("all-s", opened)]

@hookimpl
def quintain_command(cli):
    cli.append("added")
"""
    )
    groups = {
        "quintain.driver": {"all-d": "everything"},
        "quintain.answerer": {"all-a": "everything"},
        "quintain.assertion": {"all-x": "everything", "all-y": "everything"},
        "quintain.sink": {"all-s": "everything"},
        "quintain.command": {"all-c": "everything"},
    }
    install("every-kind", groups, {"everything": code})
    plugins = Plugins.from_entry_points()
    assert plugins.driver("all-d").name == "all-d"
    assert plugins.answerer("all-a").name == "all-a"
    assert [plugins.assertion(name).name for name in ("all-x", "all-y")] == ["all-x", "all-y"]
    assert plugins.sink("all-s").name == "all-s"
    added: list[str] = []
    plugins.command("all-c")(cli=added)
    assert added == ["added"]
    checked = of_test(plugins.check(), "every-kind")
    assert {name: one.error for name, one in checked.items()} == dict.fromkeys(
        ("all-d", "all-a", "all-x", "all-y", "all-s", "all-c")
    )


# broken ones

BROKEN = {
    "import of what isn't there": (
        "import not_installed_anywhere\n",
        "can't be loaded: ModuleNotFoundError: No module named 'not_installed_anywhere'",
    ),
    "raises": ("x = 1\nraise ValueError('no licence')\n", "can't be loaded: ValueError: no licence"),
    "exits": ("import sys\nsys.exit('bye')\n", "can't be loaded: SystemExit: bye"),
    "does not parse": ("def (:\n", "can't be loaded: SyntaxError"),
    "recurses": ("def f():\n    f()\nf()\n", "can't be loaded: RecursionError"),
    "no hook": ("", "bad_module has no hook `quintain_driver`"),
    "hook without its mark": ("def quintain_driver():\n    return None\n", "bad_module has no hook `quintain_driver`"),
    "unknown hook": (
        HEAD + "@hookimpl\ndef quintain_drivr():\n    return DriverSpec('bad', opened)\n",
        "bad_module has an unknown hook `quintain_drivr`",
    ),
    "unknown argument": (
        HEAD + "@hookimpl\ndef quintain_driver(config):\n    return DriverSpec('bad', opened)\n",
        "Argument(s) {'config'} are declared in the hookimpl but can not be found in the hookspec",
    ),
    "hook that raises": (HEAD + "@hookimpl\ndef quintain_driver():\n    1 / 0\n", "can't be loaded: ZeroDivisionError"),
    "hook that needs what isn't there": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    import not_there_at_all\n",
        "can't be loaded: ModuleNotFoundError",
    ),
    "generator that raises": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    yield DriverSpec('x', opened)\n    raise OSError('late')\n",
        "can't be loaded: OSError: late",
    ),
    "returns a table": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return {'name': 'bad'}\n",
        "`quintain_driver` returned dict, not DriverSpec",
    ),
    "returns a text": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return 'bad'\n",
        "`quintain_driver` returned str, not DriverSpec",
    ),
    "returns nothing": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    pass\n",
        "`quintain_driver` returned NoneType, not DriverSpec",
    ),
    "returns another kind": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return AnswererSpec('bad', opened)\n",
        "`quintain_driver` returned AnswererSpec, not DriverSpec",
    ),
    "returns a class": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return DriverSpec\n",
        "`quintain_driver` returned type, not DriverSpec",
    ),
    "returns one of another kind among others": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return [DriverSpec('bad', opened), 3]\n",
        "`quintain_driver` returned int, not DriverSpec",
    ),
    "declares other names": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return [DriverSpec('b', opened), DriverSpec('a', opened)]\n",
        "bad_module declares a, b, not `bad` as its entry point says",
    ),
    "declares nothing": (
        HEAD + "@hookimpl\ndef quintain_driver():\n    return []\n",
        "bad_module declares nothing, not `bad` as its entry point says",
    ),
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_breaks_only_itself(install: Install, install_driver: Any, code: str, reason: str) -> None:
    install("bad-plugin", {"quintain.driver": {"bad": "bad_module"}}, {"bad_module": code})
    install_driver("good", "fine")
    plugins = Plugins.from_entry_points()
    error = the_error(lambda: plugins.driver("bad"))
    assert reason in error.message
    assert error.where == "driver `bad` of bad-plugin 1.0"
    assert error.exit_code == 2
    assert plugins.driver("fine").name == "fine"
    checked = of_test(plugins.check(), "bad-plugin", "good")
    assert reason in str(checked["bad"].error)
    assert "bad-plugin 1.0" in str(checked["bad"].error)
    assert checked["bad"].plugin.distribution == "bad-plugin"
    assert checked["fine"] == Checked(checked["fine"].plugin, None, "of good")


def test_what_went_wrong_in_a_plugin_is_told_with_its_place(install: Install) -> None:
    folder = install("bad", {"quintain.driver": {"bad": "bad_module"}}, {"bad_module": "\n\nimport not_there_at_all\n"})
    error = the_error(lambda: Plugins.from_entry_points().driver("bad"))
    assert f"({folder}/bad_module.py:3)" in error.message
    assert "imported from bad_module" in str(error.hint)


def test_an_unknown_hook_is_told_with_the_nearest(install: Install) -> None:
    install("bad", {"quintain.driver": {"bad": "bad_module"}}, {"bad_module": BROKEN["unknown hook"][0]})
    assert the_error(lambda: Plugins.from_entry_points().driver("bad")).hint == "did you mean `quintain_driver`?"


@pytest.mark.parametrize(
    "target", ["no_such_module", "os:no_such_thing", "os:path.no_such_thing", "os:", "not a module!", ""]
)
def test_an_entry_point_that_leads_nowhere_is_one_clear_error(install: Install, target: str) -> None:
    install("lost", {"quintain.driver": {"lost": target or " "}})
    error = the_error(lambda: Plugins.from_entry_points().driver("lost"))
    assert "driver `lost` of lost 1.0" in str(error)


def test_a_hook_that_declares_fewer_arguments_than_it_could_is_sound(install: Install) -> None:
    code = HEAD + "called = []\n@hookimpl\ndef quintain_command():\n    called.append(1)\n"
    install("modest", {"quintain.command": {"shy": "modest_module"}}, {"modest_module": code})
    Plugins.from_entry_points().command("shy")(cli=None)
    assert sys.modules["modest_module"].called == [1]


def test_an_object_can_be_a_plugin(install: Install) -> None:
    code = (
        HEAD
        + """
class Plugin:
    @hookimpl
    def quintain_driver(self):
        return DriverSpec("object", opened)

plugin = Plugin()
"""
    )
    install("objects", {"quintain.driver": {"object": "objects_module:plugin"}}, {"objects_module": code})
    assert Plugins.from_entry_points().driver("object").name == "object"


def test_what_a_plugin_prints_stays_out_of_the_output(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        HEAD
        + "print('hello')\n@hookimpl\ndef quintain_driver():\n    print('again')\n    return DriverSpec('chatty', opened)\n"
    )
    install("chatterbox", {"quintain.driver": {"chatty": "chatty_module"}}, {"chatty_module": code})
    Plugins.from_entry_points().driver("chatty")
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "hello\nagain\n"


def test_an_interrupt_while_a_plugin_is_imported_is_an_interrupt(install: Install) -> None:
    install("slow", {"quintain.driver": {"slow": "slow_module"}}, {"slow_module": "raise KeyboardInterrupt\n"})
    with pytest.raises(KeyboardInterrupt):
        Plugins.from_entry_points().driver("slow")


def test_a_distribution_that_lost_its_metadata_hides_no_other(install: Install, install_driver: Any) -> None:
    folder = install("torn", {"quintain.driver": {"torn": "torn_module"}}, {"torn_module": ""})
    (folder / "torn-1.0.dist-info" / "METADATA").unlink()
    install_driver("good", "fine")
    plugins = Plugins.from_entry_points()
    assert plugins.driver("fine").name == "fine"
    assert plugins.use("driver", "torn") == PluginUse("driver", "torn", "unknown", "unknown")
    assert "driver `torn` of unknown unknown" in str(the_error(lambda: plugins.driver("torn")))


# two of one name


@pytest.fixture(params=[False, True], ids=["first", "last"])
def twins(request: pytest.FixtureRequest, install_driver: Any) -> None:
    """Two distributions with a driver of one name, in either order of the path."""
    install_driver("dist-one", "codename")
    install_driver("dist-two", "codename", last=request.param)


@pytest.mark.usefixtures("twins")
def test_a_name_that_two_distributions_claim_is_an_error_that_names_both_and_the_ways_to_choose() -> None:
    plugins = Plugins.from_entry_points()
    for call in (lambda: plugins.driver("codename"), lambda: plugins.use("driver", "codename")):
        error = the_error(call)
        assert error.message == (
            "driver `codename` is claimed by dist-one (dist_one_module) and by dist-two (dist_two_module)"
        )
        assert "--plugin driver:codename=dist-one" in str(error.hint)
        assert '[project.plugins] "driver:codename" = "dist-one"' in str(error.hint)
    assert "dist_one_module" not in sys.modules


@pytest.mark.usefixtures("twins")
@pytest.mark.parametrize("chosen", ["dist-one", "dist-two", "Dist_Two", "dist.one"])
def test_a_choice_takes_the_distribution_that_it_names_and_puts_it_on_record(chosen: str) -> None:
    plugins = Plugins.from_entry_points({"driver:codename": chosen})
    distribution = chosen.lower().replace("_", "-").replace(".", "-")
    assert plugins.driver("codename").summary == f"of {distribution}"
    assert plugins.use("driver", "codename") == PluginUse("driver", "codename", distribution, "1.0")


@pytest.mark.usefixtures("twins")
def test_a_choice_of_a_distribution_that_has_no_such_plugin_is_an_error() -> None:
    plugins = Plugins.from_entry_points({"driver:codename": "dist-three"})
    error = the_error(lambda: plugins.driver("codename"))
    assert error.message == "dist-three has no driver `codename`, which it was chosen for"
    assert "--plugin driver:codename=dist-one" in str(error.hint)


@pytest.mark.usefixtures("twins")
def test_a_check_shows_a_conflict_at_both_and_no_more_once_it_is_decided() -> None:
    found = [one for one in Plugins.from_entry_points().check() if one.plugin.name == "codename"]
    assert [one.plugin.distribution for one in found] == ["dist-one", "dist-two"]
    assert all("claimed by dist-one" in str(one.error) for one in found)
    decided = Plugins.from_entry_points({"driver:codename": "dist-two"}).check()
    assert [one.error for one in decided if one.plugin.name == "codename"] == [None, None]


def test_a_wrong_choice_shows_in_a_check_even_without_a_conflict(install_driver: Any) -> None:
    install_driver("dist-one", "alone")
    (found,) = of_test(Plugins.from_entry_points({"driver:alone": "dist-two"}).check(), "dist-one").values()
    assert "dist-two has no driver `alone`" in str(found.error)


def test_a_choice_that_names_no_kind_is_an_error() -> None:
    error = the_error(lambda: Plugins.from_entry_points({"drivr:x": "dist-one"}))
    assert error.message == "`drivr:x` is no kind and name of a plugin"
    assert "driver" in str(error.hint)


def test_no_distribution_takes_the_place_of_what_the_core_brings(install: Install) -> None:
    code = HEAD + "@hookimpl\ndef quintain_answerer():\n    return AnswererSpec('deny', opened)\n"
    install("aaa-usurper", {"quintain.answerer": {"deny": "usurper"}}, {"usurper": code})
    error = the_error(lambda: Plugins.from_entry_points().answerer("deny"))
    assert "claimed by aaa-usurper (usurper) and by quintain (quintain.functions)" in error.message


def test_of_two_versions_of_one_distribution_the_first_on_the_path_counts(install_driver: Any) -> None:
    install_driver("dist-one", "codename", version="1.0")
    install_driver("dist-one", "codename", version="2.0")
    assert Plugins.from_entry_points().use("driver", "codename").version == "2.0"


def test_one_distribution_that_claims_a_name_twice_is_an_error(install: Install) -> None:
    folder = install("double", {"quintain.driver": {"twice": "one_module"}})
    (folder / "double-1.0.dist-info" / "entry_points.txt").write_text(
        "[quintain.driver]\ntwice = a_module\ntwice = b_module\n"
    )
    plugins = Plugins.from_entry_points({"driver:twice": "double"})
    error = the_error(lambda: plugins.driver("twice"))
    assert "claimed by double (a_module) and by double (b_module)" in error.message
    assert "tell its authors" in str(error.hint)


def test_names_of_different_kinds_don_t_meet(install: Install, install_driver: Any) -> None:
    install_driver("dist-one", "shared")
    code = HEAD + "@hookimpl\ndef quintain_sink():\n    return SinkSpec('shared', opened)\n"
    install("dist-two", {"quintain.sink": {"shared": "shared_sink"}}, {"shared_sink": code})
    plugins = Plugins.from_entry_points()
    assert plugins.driver("shared").summary == "of dist-one"
    assert plugins.sink("shared").name == "shared"


# given in code


@pytest.mark.usefixtures("twins")
def test_what_is_given_in_code_wins_over_what_is_installed() -> None:
    mine = given("codename", version="7")
    plugins = Plugins.from_entry_points().with_(mine)
    assert plugins.driver("codename") is mine
    assert plugins.use("driver", "codename") == PluginUse("driver", "codename", None, "7")


def test_of_two_given_declarations_of_one_name_the_last_wins() -> None:
    first, last = given(), given()
    assert Plugins.of(first, last).driver("mine") is last
    assert Plugins.of(first).with_(last).driver("mine") is last


def test_a_set_is_not_changed_by_what_is_added_to_it() -> None:
    plugins = Plugins.of(given("a"))
    more = plugins.with_(given("b"))
    assert plugins.names("driver") == ("a",)
    assert more.names("driver") == ("a", "b")


def test_only_what_is_given_is_there(install_driver: Any) -> None:
    install_driver("dist-one", "installed")
    assert Plugins.of(given()).names("driver") == ("mine",)
    assert Plugins.of(given()).check() == ()


def test_declarations_of_every_kind_can_be_given() -> None:
    specs: list[Any] = [
        given("a"),
        AnswererSpec("b", opened),
        AssertionSpec("c", lambda config, evidence: Verdict.passed()),
        SinkSpec("d", opened),
    ]
    plugins = Plugins.of(*specs)
    assert [plugins.names(kind) for kind in KINDS] == [("a",), ("b",), ("c",), ("d",), ()]
    assert plugins.use("assertion", "c").version == "1"


@pytest.mark.parametrize("wrong", [DriverSpec, "mine", None, opened, {"name": "mine"}])
def test_what_is_no_declaration_can_t_be_given(wrong: Any) -> None:
    assert "no declaration of a plugin" in the_error(lambda: Plugins.of(wrong)).message


# missing


def test_a_missing_name_is_told_with_the_nearest(install_driver: Any) -> None:
    install_driver("dist-one", "teapot")
    error = the_error(lambda: Plugins.from_entry_points().driver("teapto"))
    assert error.message == "there is no driver `teapto`"
    assert error.hint == "did you mean `teapot`?"


@pytest.mark.parametrize(
    ("kind", "install"),
    [
        ("driver", "pip install quintain-driver-zzzz"),
        ("answerer", "pip install quintain-answerers"),
        ("assertion", "pip install quintain-assertions"),
        ("sink", "pip install quintain-sinks"),
    ],
)
def test_a_name_like_no_other_is_told_with_what_to_install(kind: str, install: str) -> None:
    error = the_error(lambda: getattr(Plugins.of(given()), kind)("zzzz"))
    assert install in str(error.hint)
    assert error.message == f"there is no {kind} `zzzz` here"


@pytest.mark.parametrize("name", ["x; rm -rf /", "x y", "", "--index-url=http://x", "../x", "é"])
def test_what_can_be_no_package_is_not_told_to_be_installed(name: str) -> None:
    assert "pip install" not in str(the_error(lambda: Plugins.of(given()).driver(name)).hint)


def test_a_missing_command_is_told_with_those_that_there_are() -> None:
    assert the_error(lambda: Plugins().command("zzzz")).hint == "there is none"


def test_a_missing_name_is_missing_for_the_record_too() -> None:
    assert "there is no driver" in the_error(lambda: Plugins().use("driver", "zzzz")).message


def test_choosing_a_distribution_for_a_name_that_nobody_claims_is_a_missing_plugin() -> None:
    error = the_error(lambda: Plugins.from_entry_points({"driver:zzzz": "dist-one"}).driver("zzzz"))
    assert "pip install quintain-driver-zzzz" in str(error.hint)


def test_the_public_name_is_the_same_class() -> None:
    assert quintain.Plugins is Plugins
