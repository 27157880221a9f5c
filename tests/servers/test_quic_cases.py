"""The engine against gtlsserver, whose QUIC (ngtcp2) has nothing in common with the engine's."""

import shutil

import pytest
from benches.quic_cases import CASES, PLACES, make_files, tried

pytestmark = pytest.mark.skipif(
    shutil.which("gtlsserver", path=PLACES) is None,
    reason="needs gtlsserver; on Debian: apt-get install ngtcp2-server",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with what is served, and a certificate."""
    folder = tmp_path_factory.mktemp("quic")
    make_files(folder)
    return folder


@pytest.mark.parametrize(
    "name",
    [
        *("hello retry", "retry", "transferloss", "few streams", "keyupdate"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("longrtt", "blackhole")),
    ],
)
def test_every_request_is_answered_and_the_record_shows_what_the_server_did(name, files):
    words, is_right = tried(CASES[name], files)
    assert is_right, words
