"""Once a campaign has ended, a change of any byte of its files shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quintain.campaign.owner import NAME as LOCK
from quintain.campaign.owner import owned
from quintain.campaign.seal import NAME, seal, unsealed
from quintain.errors import StoreError


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    (tmp_path / "trials").mkdir()
    (tmp_path / "run.db").write_bytes(b"a database")
    (tmp_path / "trials" / "x.events.jsonl").write_bytes(b"{}\n")
    (tmp_path / "identity.lock").write_bytes(b"")
    seal(tmp_path)
    return tmp_path


def test_what_is_as_it_was_shows_nothing(sealed: Path) -> None:
    assert list(unsealed(sealed)) == []
    seal(sealed)
    assert list(unsealed(sealed)) == []


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_a_change_of_any_byte_of_any_file_shows(sealed: Path, data: st.DataObject) -> None:
    files = sorted(path for path in sealed.rglob("*") if path.is_file() and path.stat().st_size)
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != before[at]))
    try:
        path.write_bytes(before[:at] + bytes([other]) + before[at + 1 :])
        assert list(unsealed(sealed)) != []
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run.db", "run.db is gone"), ("trials/x.events.jsonl", "trials/x.events.jsonl is gone"), (NAME, "is not there")],
)
def test_a_file_that_is_gone_is_named(sealed: Path, name: str, expected: str) -> None:
    (sealed / name).unlink()
    (found,) = unsealed(sealed)
    assert expected in found


def test_a_file_that_was_added_is_named(sealed: Path) -> None:
    (sealed / "trials" / "y.raw.jsonl").write_text("")
    assert list(unsealed(sealed)) == ["trials/y.raw.jsonl was added after the campaign had ended"]


def test_a_file_that_was_added_under_the_name_of_the_seal_or_the_lock_is_named(sealed: Path) -> None:
    for name in (NAME, LOCK, "run.db-shm"):
        (sealed / "trials" / name).write_text("")
        assert list(unsealed(sealed)) == [f"trials/{name} was added after the campaign had ended"]
        (sealed / "trials" / name).unlink()
    (sealed / "run.db-wal").write_bytes(b"frames")
    assert list(unsealed(sealed)) == ["run.db-wal was added after the campaign had ended"]


def test_owning_a_campaign_is_no_change_of_it(sealed: Path) -> None:
    with owned(sealed):
        assert list(unsealed(sealed)) == []


def test_a_place_that_takes_no_seal_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"seal\.json: can't be written"):
        seal(tmp_path / "gone")
