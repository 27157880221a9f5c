"""`loadcurve load https://…`: a server of TLS under load, and one whose certificate nobody trusts."""

import json

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def address(tmp_path_factory, authority):
    """Where `limit` answers over TLS, with a certificate that the authority has issued."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * 1024)
    issued = authority.issue(NAME)
    with limit_server(content, issued.certificate, issued.key, http2=True) as address:
        yield address


@pytest.mark.parametrize(("http", "streams"), [("1.1", 1), ("2", 10)])
def test_a_server_of_tls_is_put_under_load_and_what_was_agreed_on_is_in_the_result(
    http, streams, sandbox, address, authority
):
    trusted = ("--cacert", authority.certificate, "--server-name", NAME)
    wide = ("--http", "2", "--streams", streams) if http == "2" else ()
    finished = sandbox.run("load", f"https://{address}/1k.txt", *trusted, *wide, "-n", 200, "--json")
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["status"]["2xx"]) == (200, 200), finished.stderr
    assert result["bytes"]["body"] == 200 * 1024
    assert (result["load"]["scheme"], result["load"]["http"]) == ("https", http)
    assert result["tls"]["agreed"][0]["version"] == "1.3"
    assert result["tls"]["certificate"]["subject"] == f"CN={NAME}"


def test_a_certificate_that_nobody_trusts_is_named_with_what_accepts_it_and_nothing_is_measured(
    sandbox, address
):
    finished = sandbox.run("load", f"https://{address}/1k.txt", "--server-name", NAME)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "was issued by an authority that is not trusted" in finished.stderr
    assert all(option in finished.stderr for option in ("--cacert FILE", "--insecure"))
    said = " ".join(finished.stderr.split())
    assert f'a certificate of "CN={NAME}", issued by "CN=authority", valid from' in said
