"""Generated content, and a user's folder."""

import hashlib
import random
import tracemalloc

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.content import ALPHABET, CHUNK_BYTES, content_of_folder, make_content

SIZES = {"1k.txt": 1024, "deep/er/3.txt": 3, "empty.txt": 0}


def test_files_have_the_sizes_and_digests_that_are_recorded(tmp_path):
    records = make_content(tmp_path, SIZES, seed=1)
    assert {name: record.bytes for name, record in records.items()} == SIZES
    for name, record in records.items():
        data = (tmp_path / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (record.bytes, record.sha256)


def test_a_generated_folder_is_described_as_it_was_made(tmp_path):
    assert make_content(tmp_path, SIZES, seed=1) == content_of_folder(tmp_path)


def test_a_file_with_a_given_text_holds_just_that(tmp_path):
    record = make_content(tmp_path, {"hello.txt": "Grüße\n"}, seed=1)["hello.txt"]
    assert (tmp_path / "hello.txt").read_bytes() == "Grüße\n".encode()
    assert (record.bytes, record.sha256) == (8, hashlib.sha256("Grüße\n".encode()).hexdigest())


def test_the_seed_and_the_name_decide_the_bytes(tmp_path):
    first = make_content(tmp_path / "a", {"1": 64, "2": 64}, seed=1)
    assert make_content(tmp_path / "b", {"2": 64}, seed=1)["2"] == first["2"]
    assert make_content(tmp_path / "c", {"2": 64}, seed=2)["2"] != first["2"]
    assert first["1"] != first["2"]


def test_generated_content_is_plain_text_of_many_characters(tmp_path):
    make_content(tmp_path, {"text": 1 << 16}, seed=1)
    text = (tmp_path / "text").read_bytes()
    assert len(set(text)) == 64
    assert all(byte == ord("\n") or 32 <= byte < 127 for byte in text)


def test_content_of_many_chunks_is_one_sequence_of_random_bytes(tmp_path):
    size_bytes = 2 * CHUNK_BYTES + 5
    make_content(tmp_path, {"large": size_bytes}, seed=1)
    # Drawn all at once, and one of 64 characters for each byte.
    drawn = random.Random("1 large").randbytes(size_bytes)
    expected = bytes(map((ALPHABET * 4).__getitem__, drawn))
    assert (tmp_path / "large").read_bytes() == expected


def test_a_large_file_is_generated_and_described_without_being_held_in_memory(tmp_path):
    size_bytes = 64 << 20
    tracemalloc.start()
    try:
        make_content(tmp_path, {"large": size_bytes}, seed=1)
        content_of_folder(tmp_path)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A chunk is there as a number, as bytes and as text.
    assert peak_bytes < 8 * CHUNK_BYTES


def test_every_user_may_read_what_is_made(tmp_path):
    make_content(tmp_path / "content", {"deep/er/3.txt": 3}, seed=1)
    made = [tmp_path / "content", *(tmp_path / "content").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o755}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o644}


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../b", "a//b", ".", "", "a/", "nul\0"])
def test_a_name_outside_the_folder_is_bad_input_and_nothing_is_written(name, tmp_path):
    with pytest.raises(BadInput, match="relative path"):
        make_content(tmp_path / "content", {"good": 1, name: 1}, seed=1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_serve_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        content_of_folder(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="contains no file"):
        content_of_folder(tmp_path)
