"""What is brought to another machine is unpacked there once, however many bring it at the same time."""

import io
import os
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, local

import pytest

from loadcurve.machines import bootstrap


def packed(**files: bytes) -> bytes:
    """Return a tar file of these files."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return found.getvalue()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Let each thread read a tar file of one file from its near side."""
    data, rest = packed(agent=b"one"), local()

    def read(size: int) -> bytes:
        left = getattr(rest, "data", data)
        rest.data = left[size:]
        return left[:size]

    monkeypatch.setattr(bootstrap, "read", read)
    return data


def test_the_first_of_several_stays_and_the_others_leave_nothing(
    sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    have_unpacked, rename = Barrier(3), os.rename

    def rename_together(old: str, new: str) -> None:
        have_unpacked.wait(timeout=60)
        rename(old, new)

    monkeypatch.setattr(bootstrap.os, "rename", rename_together)
    with ThreadPoolExecutor(3) as pool:
        ends = [pool.submit(bootstrap.unpack, str(tmp_path), "own", len(sent)) for _ in range(3)]
    assert [end.result() for end in ends] == [None] * 3
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == [
        "own",
        "own/agent",
    ]


def test_what_cannot_be_moved_to_its_place_is_an_error(sent: bytes, tmp_path: Path):
    (tmp_path / "own").write_text("a file")
    with pytest.raises(OSError, match="Not a directory"):
        bootstrap.unpack(str(tmp_path), "own", len(sent))
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_what_was_not_used_for_a_month_is_removed_and_what_is_gone_by_then_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    month_ago = time.time() - bootstrap.UNUSED_S - 60
    os.utime(tmp_path / "old", (month_ago, month_ago))
    monkeypatch.setattr(bootstrap.os, "listdir", lambda _: ["gone", "old", "new"])
    bootstrap.remove_unused(str(tmp_path))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
