"""Files that gzip has packed are read as what they hold, within a bound; others say what has packed them."""

import bz2
import collections
import gzip
import io
import lzma
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter
from loadcurve.imported.pattern import named_files
from loadcurve.imported.plan import read_files
from loadcurve.imported.weighted import write_requests
from loadcurve.tools import blocks
from loadcurve.tools import packed as packed_files
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.hey.reader import COLUMNS
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
LINE = b'127.0.0.1 - - [24/Nov/2026:02:30:20 +0000] "GET /a HTTP/1.1" 200 12 "-" "-"\n'


def packed(content: bytes) -> bytes:
    # Without a time, so that tests have the same names in every process.
    return gzip.compress(content, mtime=0)


def taken(tmp_path: Path, content: bytes) -> int:
    """Return how many requests a log gives."""
    (tmp_path / "access.log.gz").write_bytes(content)
    return write_requests(tmp_path / "access.log.gz", tmp_path / "out.txt", RequestFilter()).requests


@pytest.mark.parametrize(
    "name",
    [
        *("hey.csv", "k6.csv", "k6.jsonl", "wrk.txt", "fortio/1.63.10.json", "gatling/3.12.0.log"),
        *("gatling/3.15.1.log", "h2load-log.tsv"),
    ],
)
def test_a_file_that_gzip_has_packed_has_the_same_figures(tmp_path: Path, name: str):
    plain = DATA / name
    (tmp_path / "packed.gz").write_bytes(packed(plain.read_bytes()))
    found = read_figures(Source(tmp_path / "packed.gz"), None)
    assert repr(found) == repr(read_figures(Source(plain), None))


def test_the_digest_of_an_import_is_that_of_the_file_as_it_is(tmp_path: Path):
    content = packed((DATA / "hey.csv").read_bytes())
    (tmp_path / "hey.csv.gz").write_bytes(content)
    [one] = read_files(named_files([str(tmp_path / "hey.csv.gz")], ""), None, None, {"connections": 2.0})
    assert one.bytes == len(content)


def test_a_log_of_several_packed_parts_is_read_to_its_end(tmp_path: Path):
    assert taken(tmp_path, packed(2 * LINE) + packed(3 * LINE)) == 5


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (packed(1000 * LINE)[:-20], "the end of the file within what gzip packed: it is cut off"),
        (packed(LINE)[:-8] + b"\0" * 8, "what gzip cannot unpack .*: it is damaged"),
        (packed(LINE) + b"rest", "what gzip cannot unpack .*: it is damaged"),
        (b"\x1f\x8b" + b"x" * 99, "what gzip cannot unpack .*: it is damaged"),
        (
            b"\x28\xb5\x2f\xfd" + b"x" * 99,
            "a file that is compressed by zstd; expected one that is not, or by gzip",
        ),
        (bz2.compress(LINE), "a file that is compressed by bzip2"),
        (lzma.compress(LINE), "a file that is compressed by xz"),
    ],
)
def test_what_cannot_be_unpacked_is_refused_with_a_sentence(tmp_path: Path, content: bytes, found: str):
    with pytest.raises(BadInput, match=found):
        taken(tmp_path, content)
    assert not (tmp_path / "out.txt").exists()


def repeated(mebibytes: int) -> bytes:
    """Return a packed log of the same line, of which less than a two hundredth is left."""
    packing = zlib.compressobj(wbits=31)
    parts = [packing.compress(LINE * (2**20 // len(LINE))) for _ in range(mebibytes)]
    content = b"".join(parts) + packing.flush()
    assert 200 * len(content) < mebibytes * 2**20
    return content


def test_what_unpacks_to_far_more_than_it_takes_is_refused_by_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed_files, "UNPACKED_BYTES_FREE", 2**20)
    with pytest.raises(BadInput, match="200 times what it takes: it is little but repetitions"):
        taken(tmp_path, repeated(4))


def test_what_is_unpacked_is_not_held_in_memory():
    content = repeated(150)
    tracemalloc.start()
    unpacked = packed_files.unpacked("access.log.gz", io.BytesIO(content))
    with pytest.raises(Unreadable, match="200 times what it takes"):
        collections.deque(iter(lambda: unpacked.read(2**20), b""), maxlen=0)
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "pack",
    [packed, zlib.compress, lambda text: b"\x28\xb5\x2f\xfd" + text],
    ids=["gzip", "zlib", "zstd"],
)
@pytest.mark.parametrize(
    ("form", "line"),
    [("hey-csv", ",".join(COLUMNS) + "\n"), ("k6-json", '{"type":"Metric","metric":"http_reqs"}\n')],
)
def test_packed_bytes_within_a_table_are_refused_and_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], form: str, line: str
):
    """The library that reads tables unpacks what begins as if it were packed, without a bound."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", len(line))
    row = b"0.001,0,0,0,0.0005,0,200,0.1\n"
    (tmp_path / "table").write_bytes(line.encode() + pack(row) + b"\n")
    with pytest.raises(Unreadable, match="line 2: found bytes that gzip, zlib or zstd has packed"):
        read_figures(Source(tmp_path / "table"), form)
