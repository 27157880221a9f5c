"""The headers of ``loadcurve load``: from its options, a file or a pipe, and never repeated by a message."""

import os

import pytest

from loadcurve.cli.load_study import Options, headers_of, http_load
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import WEB
from loadcurve.loads.sent import header_fields


def test_a_header_is_a_name_and_a_value():
    assert headers_of("Accept:  text/html ") == [("Accept", "text/html")]


def test_a_file_has_one_header_a_line(tmp_path):
    file = tmp_path / "headers"
    file.write_text("Authorization: Bearer Xq7Vt\n\nCookie: a=1; b=2\n")
    file.chmod(0o600)
    assert headers_of(f"@{file}") == [("Authorization", "Bearer Xq7Vt"), ("Cookie", "a=1; b=2")]


def test_headers_may_come_through_a_pipe():
    read, write = os.pipe()
    os.write(write, b"Authorization: Xq7Vt")
    os.close(write)
    try:
        assert headers_of(f"@/dev/fd/{read}") == [("Authorization", "Xq7Vt")]
    finally:
        os.close(read)


def test_a_file_that_others_may_read_may_hold_headers_that_are_no_secrets_only(tmp_path):
    file = tmp_path / "headers"
    file.write_text("Accept: */*\n")
    file.chmod(0o644)
    assert headers_of(f"@{file}") == [("Accept", "*/*")]
    file.write_text("Accept: */*\nX-Api: Xq7Vt\n")
    with pytest.raises(BadInput, match=f"run: chmod 600 {file}$"):
        headers_of(f"@{file}")


def test_what_is_no_header_is_refused_without_repeating_it(tmp_path):
    file = tmp_path / "headers"
    file.write_text("Accept: */*\nAuthorization Xq7Vt\n")
    file.chmod(0o600)
    for given in ("Authorization Xq7Vt", f"@{file}"):
        with pytest.raises(BadInput, match="no colon found") as refusal:
            headers_of(given)
        assert "Xq7Vt" not in str(refusal.value)
    with pytest.raises(BadInput, match="line 2: no colon found"):
        headers_of(f"@{file}")


def test_all_headers_of_one_name_are_sent_whichever_options_give_them(monkeypatch):
    monkeypatch.setenv("LOADCURVE_TEST_TOKEN", "c=3")
    given = {
        "url": "http://127.0.0.1:1/",
        "generator": "loadcurve",
        "header": ["Cookie: a=1", "Accept: */*", "Cookie: b=2"],
        "header_env": ["Cookie=LOADCURVE_TEST_TOKEN"],
    }
    options = Options(WEB, given, ["header", "header_env"], {name: f"--{name}" for name in given})
    load = http_load(options, given["url"], "/", None, None, lambda _: b"")
    fields = header_fields(load.headers)
    assert [value for name, value in fields if name == "Cookie"] == ["a=1", "b=2", "c=3"]
    assert ("Accept", "*/*") in fields
