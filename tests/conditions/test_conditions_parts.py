"""Salts, places and files: the small parts of an identity."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conditions.scenes import Scene, write
from quintain.conditions import concern_of, project_salt
from quintain.conditions._places import Anchors
from quintain.conditions._salt import salted
from quintain.conditions._sources import LISTED, MOST_FILES, Recorder
from quintain.errors import StoreError, WorkspaceError
from quintain.identity.cache import DigestCache
from quintain.identity.tree import difference


def test_a_project_has_one_salt_that_others_can_not_read(tmp_path: Path) -> None:
    salt = project_salt(tmp_path / "store")
    assert len(salt) == 32
    assert project_salt(tmp_path / "store") == salt
    assert project_salt(tmp_path / "other") != salt
    assert (tmp_path / "store" / "salt").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "store") == ["salt"]


def test_whoever_is_first_makes_the_salt_of_all(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        salts = set(pool.map(lambda _: project_salt(tmp_path), range(50)))
    assert len(salts) == 1


def test_a_salt_that_was_cut_is_refused(tmp_path: Path) -> None:
    (tmp_path / "salt").write_bytes(b"short")
    with pytest.raises(StoreError, match="has 5 bytes instead of 32"):
        project_salt(tmp_path)


def test_a_store_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't be kept"):
        project_salt(tmp_path / "file" / "store")


def test_a_salted_value_depends_on_salt_name_and_value_and_says_which_salt() -> None:
    found = [salted(b"1", "A", "x"), salted(b"1", "A", "y"), salted(b"1", "B", "x"), salted(b"2", "A", "x")]
    assert len(set(found)) == 4
    assert len({one.split(":")[1] for one in found}) == 2
    assert salted(b"1", "A", "\udcff").startswith("hmac-sha256:")


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("/home/ada/project", "{project}"),
        ("/home/ada/project/agent.py", "{project}/agent.py"),
        ("--rules=/home/ada/project/rules.md", "--rules={project}/rules.md"),
        ("/home/ada/project/bin:/home/ada/project/tools", "{project}/bin:{project}/tools"),
        ("/home/ada/project-2/agent.py", "/home/ada/project-2/agent.py"),
        ("/mnt/home/ada/project/agent.py", "/mnt/home/ada/project/agent.py"),
        ("home/ada/project", "home/ada/project"),
        (sys.executable, "{python}"),
        (f"{sys.executable} -S", f"{sys.executable} -S"),
    ],
)
def test_places_give_way_to_names_only_where_a_path_begins(text: str, free: str) -> None:
    anchors = Anchors.of(Path("/home/ada/project"))
    assert anchors.text(text) == free
    assert anchors.free({"a": [text, 1, None]}) == {"a": [free, 1, None]}


@pytest.mark.parametrize(
    ("name", "concern"),
    [
        ("cases.a/b.prompt", "case"),
        ("cases.a/b.grader.hidden", "grader"),
        ("profiles.fast.limits.total_s", "profile"),
        ("core.version", "program"),
        ("platform.python", "machine"),
    ],
)
def test_a_name_says_what_it_is_part_of(name: str, concern: str) -> None:
    assert concern_of(name) == concern


def test_a_directory_of_many_files_stands_as_one_digest(tmp_path: Path) -> None:
    for number in range(LISTED + 1):
        (tmp_path / f"{number}").touch()
    recorder = Recorder(DigestCache())
    digest = recorder.tree(tmp_path)
    assert recorder.listed({"many": digest}) == {"many": digest}
    (tmp_path / "0").unlink()
    recorder = Recorder(DigestCache())
    assert len(recorder.listed({"few": recorder.tree(tmp_path)})) == LISTED


def test_more_than_an_agent_reads_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quintain.conditions._sources.MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}").touch()
    with pytest.raises(WorkspaceError, match="has at most 2 files"):
        Recorder(DigestCache()).tree(tmp_path)
    assert MOST_FILES >= 5000


def test_what_can_not_be_read_by_its_kind_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WorkspaceError, match="special"):
        Recorder(DigestCache()).tree(tmp_path)


def test_empty_directories_and_execute_bits_are_told(tmp_path: Path) -> None:
    write(tmp_path / "tools" / "run", "", program=True)
    (tmp_path / "empty").mkdir()
    recorder = Recorder(DigestCache())
    found = recorder.listed({"d": recorder.tree(tmp_path)})
    assert found["d/empty"] == "directory"
    assert found["d/tools/run"].endswith(" executable")
    assert set(found) == {"d/empty", "d/tools/run"}


@pytest.mark.anyio
async def test_two_directories_of_one_content_both_have_names(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(tmp_path / name / "x.md", "x")
    recorder = Recorder(DigestCache())
    sources = {"first": recorder.tree(tmp_path / "one"), "second": recorder.tree(tmp_path / "other")}
    names, watched = recorder.named("profiles.p.driver.d", sources)
    assert set(names.values()) == {"first", "second"}
    assert {one.name for one in watched} == {"profiles.p.driver.d.first", "profiles.p.driver.d.second"}


@pytest.mark.anyio
async def test_the_umask_of_a_checkout_changes_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    before = await scene.conditions()
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != scene.program:
            path.chmod(0o664)
    scene.program.chmod(0o700)
    assert difference(before.tree, (await scene.conditions()).tree) == ()


PRINT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import anyio
from conditions.scenes import Scene
print(anyio.run(Scene(Path(sys.argv[2])).conditions).root)
"""


def test_hash_seed_locale_and_time_zone_change_nothing(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    roots = set()
    for seed, locale, zone in (
        ("0", "C", "UTC"),
        ("1", "de_DE.UTF-8", "Asia/Tokyo"),
        ("random", "tr_TR", "America/Lima"),
    ):
        env = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale, "TZ": zone}
        done = subprocess.run(
            [sys.executable, "-c", PRINT, tests, str(tmp_path)], env=env, check=True, capture_output=True, text=True
        )
        roots.add(done.stdout)
    assert len(roots) == 1
