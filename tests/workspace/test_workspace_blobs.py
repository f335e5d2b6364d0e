"""Contents are kept once, whole or not at all, and damage is an error."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quintain.errors import StoreError
from quintain.identity.canonical import digest_bytes
from quintain.model.outcome import Failure
from quintain.trial.decide import classify
from quintain.workspace.blobs import SMALL, BlobStore, DiskError
from workspace.trees import as_ordinary_user, ground, in_child

LARGE = SMALL * 3 + 11


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "deep" / "blobs")


def kept(blobs: BlobStore) -> list[Path]:
    return sorted(path for path in blobs.root.rglob("*") if path.is_file())


def put_file(blobs: BlobStore, path: Path, *, limit: int | None = None) -> tuple[str, int] | None:
    fd = os.open(path, os.O_RDONLY)
    try:
        return blobs.put_open(fd, path.stat().st_size, limit=limit)
    finally:
        os.close(fd)


def laid(blobs: BlobStore, digest: str, size: int, target: Path) -> bytes:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        blobs.lay(digest, fd, size)
    finally:
        os.close(fd)
    return target.read_bytes()


def test_a_content_is_found_by_its_digest(blobs: BlobStore) -> None:
    digest = blobs.put_bytes(b"hello")
    assert digest == digest_bytes(b"hello")
    assert blobs.has(digest)
    assert blobs.read(digest) == b"hello"
    assert BlobStore(blobs.root).read(digest) == b"hello"


@settings(max_examples=30)
@given(st.binary(max_size=3000))
def test_any_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    blobs = BlobStore(tmp_path_factory.mktemp("any"))
    assert blobs.read(blobs.put_bytes(data)) == data


def test_equal_contents_are_kept_once(blobs: BlobStore) -> None:
    blobs.put_bytes(b"same")
    before = kept(blobs)[0].stat()
    blobs.put_bytes(b"same")
    assert len(kept(blobs)) == 1
    assert kept(blobs)[0].stat().st_ino == before.st_ino


def test_nobody_else_can_read_what_is_kept(blobs: BlobStore) -> None:
    blobs.put_bytes(b"x")
    assert kept(blobs)[0].stat().st_mode & 0o777 == 0o600
    folders = [path for path in (blobs.root, *blobs.root.rglob("*")) if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in folders[1:]} == {0o700}


def test_nothing_is_made_before_something_is_kept(blobs: BlobStore) -> None:
    assert not blobs.has(digest_bytes(b"x"))
    with pytest.raises(StoreError, match="not in the store"):
        blobs.read(digest_bytes(b"x"))
    assert not blobs.root.exists()


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../etc/passwd", "md5:" + "0" * 64, "sha256:" + "G" * 64])
def test_what_is_no_digest_never_becomes_a_path(blobs: BlobStore, digest: str) -> None:
    for use in (blobs.read, blobs.has, blobs.path):
        with pytest.raises(StoreError, match="no digest"):
            use(digest)


def test_a_damaged_content_is_an_error_that_names_its_file(blobs: BlobStore, tmp_path: Path) -> None:
    small, large = blobs.put_bytes(b"x" * 10), blobs.put_bytes(b"y" * LARGE)
    for digest, size in ((small, 10), (large, LARGE)):
        with blobs.path(digest).open("r+b") as file:
            file.write(b"!")
        with pytest.raises(StoreError, match="damaged") as raised:
            blobs.read(digest)
        assert raised.value.where == str(blobs.path(digest))
        with pytest.raises(StoreError, match="damaged"):
            laid(BlobStore(blobs.root), digest, size, tmp_path / "out")


def test_what_a_crash_of_the_machine_left_empty_is_written_again(blobs: BlobStore) -> None:
    digest = blobs.put_bytes(b"content")
    blobs.path(digest).write_bytes(b"")
    assert blobs.put_bytes(b"content") == digest
    assert blobs.read(digest) == b"content"


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, LARGE])
def test_files_of_any_size_go_in_and_come_out(blobs: BlobStore, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "in").write_bytes(data)
    assert put_file(blobs, tmp_path / "in") == (digest_bytes(data), size)
    assert put_file(blobs, tmp_path / "in", limit=size) == (digest_bytes(data), size)
    for _ in range(2):
        assert laid(blobs, digest_bytes(data), size, tmp_path / "out") == data
    assert len(kept(blobs)) == 1


@pytest.mark.parametrize("size", [2, SMALL + 1, LARGE])
def test_a_file_over_the_limit_is_not_kept(blobs: BlobStore, tmp_path: Path, size: int) -> None:
    (tmp_path / "in").write_bytes(b"x" * size)
    assert put_file(blobs, tmp_path / "in", limit=size - 1) is None
    assert kept(blobs) == []


@pytest.mark.parametrize("seems", [0, 5, SMALL, LARGE])
def test_a_file_that_grew_is_kept_as_it_was_read(blobs: BlobStore, tmp_path: Path, seems: int) -> None:
    data = os.urandom(LARGE + 5)
    (tmp_path / "in").write_bytes(data)
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    try:
        assert blobs.put_open(fd, seems) == (digest_bytes(data), len(data))
    finally:
        os.close(fd)


def test_what_was_laid_out_shares_nothing_with_the_store(blobs: BlobStore, tmp_path: Path) -> None:
    for data in (b"small", b"x" * LARGE):
        digest = blobs.put_bytes(data)
        laid(blobs, digest, len(data), tmp_path / "out")
        with (tmp_path / "out").open("r+b") as file:
            file.write(b"spoilt")
        assert blobs.read(digest) == data
        assert laid(blobs, digest, len(data), tmp_path / "again") == data


def test_a_large_content_is_verified_once(blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = blobs.put_bytes(b"y" * LARGE)
    time.sleep(0.03)
    laid(blobs, digest, LARGE, tmp_path / "one")
    monkeypatch.setattr("quintain.workspace.blobs.sha256_of", lambda fd, size: pytest.fail("it was verified again"))
    laid(blobs, digest, LARGE, tmp_path / "two")


def test_the_memory_of_contents_is_bounded(blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quintain.workspace.blobs.REMEMBERED_BYTES", 1000)
    digests = [blobs.put_bytes(bytes([number]) * 300) for number in range(20)]
    for _ in range(2):
        for number, digest in enumerate(digests):
            assert laid(blobs, digest, 300, tmp_path / "out") == bytes([number]) * 300
    assert blobs._memory._bytes <= 1000
    assert sum(map(len, blobs._memory._contents.values())) == blobs._memory._bytes


# many writers


def test_threads_may_write_the_same_and_different_contents_at_once(blobs: BlobStore) -> None:
    contents = [b"%d" % (number % 20) * 5000 for number in range(400)]
    with ThreadPoolExecutor(16) as pool:
        digests = list(pool.map(blobs.put_bytes, contents))
    assert [blobs.read(digest) for digest in digests] == contents
    assert len(kept(blobs)) == 20


def write_for_ever(root: Path) -> None:
    number = 0
    while True:
        number += 1
        BlobStore(root).put_bytes(b"%d " % (number % 50) * 200_000)


def test_a_writer_may_be_killed_at_any_instant(blobs: BlobStore) -> None:
    context = multiprocessing.get_context("fork")
    for round in range(8):
        writers = [context.Process(target=write_for_ever, args=(blobs.root,)) for _ in range(2)]
        for writer in writers:
            writer.start()
        time.sleep(0.03 + round * 0.01)
        for writer in writers:
            assert writer.pid is not None
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
    places = [path for path in kept(blobs) if path.parent.name != "incoming"]
    assert places
    for path in places:
        digest = f"sha256:{path.parent.name}{path.name}"
        assert digest_bytes(blobs.read(digest)) == digest


# a disk that does not take it


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    real = os.write
    left = room

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(fd, bytes(data[:left]))
        left -= done
        return done

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize("size", [10_000, LARGE])
def test_a_full_disk_is_told_with_path_and_bytes_and_leaves_no_half_content(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    before = blobs.put_bytes(b"kept before")
    (tmp_path / "in").write_bytes(b"x" * size)
    with monkeypatch.context() as patched:
        fill_disk(patched, 5000)
        with pytest.raises(DiskError, match=f"{size} bytes can't be kept: No space") as raised:
            put_file(blobs, tmp_path / "in")
    assert str(blobs.root) in str(raised.value)
    assert raised.value.hint is not None
    assert classify(raised.value) is Failure.DISK
    assert [path.read_bytes() for path in kept(blobs)] == [b"kept before"]
    assert blobs.has(before)
    assert put_file(blobs, tmp_path / "in") is not None


def test_a_real_limit_of_the_system_is_met_the_same_way(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")

    def child() -> tuple[str, bool, int]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))
        small = blobs.put_bytes(b"fits")
        try:
            blobs.put_bytes(b"z" * 200_000)
        except DiskError as error:
            return small, error.errno == errno.EFBIG, len(kept(blobs))
        raise AssertionError("it was kept")

    small, too_big, files = in_child(child)
    assert (too_big, files) == (True, 1)
    assert blobs.read(small) == b"fits"


def test_a_store_that_may_not_be_written_can_still_be_read() -> None:
    with ground() as place:

        def use() -> tuple[bytes, str]:
            blobs = BlobStore(place / "blobs")
            digest = blobs.put_bytes(b"kept")
            for folder in (*blobs.root.iterdir(), blobs.root):
                folder.chmod(0o500)
            try:
                blobs.put_bytes(b"more")
            except DiskError as error:
                return BlobStore(blobs.root).read(digest), error.message
            raise AssertionError("it was written")

        data, message = as_ordinary_user(use)
    assert data == b"kept"
    assert "denied" in message
