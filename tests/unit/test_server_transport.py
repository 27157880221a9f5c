"""How a web server is spoken to follows from its settings; what it cannot do is refused before a start."""

import ssl
from pathlib import Path

import pytest
from test_server_catalog import MINIMAL

from loadcurve import _engine
from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog, read_entry
from loadcurve.server.certificates import CertificateFiles
from loadcurve.server.found import FoundServer, Overrides, find_server
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.transport import transport_of
from loadcurve.server.versions import is_before

CATALOG = load_catalog()
ENCRYPTED = [
    entry for entry in CATALOG if "tls" in entry.description.settings and not entry.description.ready.quic
]
SETTINGS = """
[settings.tls]
type = "boolean"
default = false
doc = ""
[settings.http2]
type = "boolean"
default = false
doc = ""
"""


def entry_of(tmp_path: Path, more: str = "", tables: str = ""):
    folder = tmp_path / "demo"
    folder.mkdir(exist_ok=True)
    text = MINIMAL.format(binary="echo", more=more, tables=SETTINGS + tables)
    (folder / "server.toml").write_text(text)
    return read_entry(folder)


def test_a_server_without_settings_of_transport_is_spoken_to_in_clear_text():
    transport = transport_of({}, Path("/authority"))
    assert (transport.scheme, transport.http_versions) == ("http", {"1.1"})


def test_tls_and_http2_are_two_settings():
    authority = Path("/authority")
    encrypted = transport_of({"tls": True, "http2": False}, authority)
    assert (encrypted.scheme, encrypted.tls.verify, encrypted.http_versions) == (
        "https",
        "/authority",
        {"1.1"},
    )
    clear = transport_of({"tls": False, "http2": True}, authority)
    assert (clear.scheme, clear.http_versions) == ("http", {"1.1", "2"})
    every = transport_of({"tls": True, "http2": True, "http3": True}, authority)
    assert every.http_versions == {"1.1", "2", "3"}


QUIC_ALONE = """
[ready]
quic = true
[settings.tls]
type = "boolean"
default = true
doc = ""
[settings.http3]
type = "boolean"
default = true
doc = ""
"""


def test_a_server_that_is_ready_by_quic_is_spoken_to_over_http3_alone(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "server.toml").write_text(MINIMAL.format(binary="echo", more="", tables=QUIC_ALONE))
    assert read_entry(folder).description.may_serve_files
    transport = transport_of({"tls": True, "http3": True}, Path("/authority"), is_quic_alone=True)
    assert (transport.scheme, transport.http_versions) == ("https", {"3"})
    assert transport.is_quic_alone
    assert not transport_of({"tls": True, "http3": True}, Path("/authority")).is_quic_alone


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        ("quic = true", "without the setting `tls`"),
        ('quic = true\npath = "/"', "path is given beside quic = true"),
        ("quic = true\nconnects = true", "connects = true is given beside quic = true"),
    ],
)
def test_a_sign_of_quic_that_makes_no_sense_is_refused(ready, expected, tmp_path):
    with pytest.raises(BadInput, match=expected):
        entry_of(tmp_path, tables=f"[ready]\n{ready}\n")


@pytest.mark.parametrize("entry", ENCRYPTED, ids=lambda entry: entry.name)
def test_every_server_that_can_be_encrypted_has_the_same_settings_off_by_default(entry):
    settings = entry.description.settings
    assert [settings[name].default for name in ("tls", "certificate")] == [False, "ecdsa"]
    assert "http2" not in settings or settings["http2"].default is False
    assert settings["certificate"].choices == ["ecdsa", "rsa"]


def test_the_names_of_the_certificate_are_known_only_to_servers_that_may_have_one(tmp_path):
    assert entry_of(tmp_path, 'check = ["{binary}", "{certificate_file}", "{certificate_key_file}"]')
    (tmp_path / "demo" / "server.toml").write_text(
        MINIMAL.format(binary="echo", more='check = ["{certificate_file}"]', tables="")
    )
    with pytest.raises(BadInput, match=r"check names \{certificate_file\}"):
        load_catalog([tmp_path])


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (
            '[[unsupported]]\nsettings = { http3 = true }\nreason = "no"',
            "names `http3`, which is not a setting",
        ),
        ('[[unsupported]]\nsettings = { http2 = 2 }\nreason = "no"', "names `http2` with another value"),
        ('[settings.certificate]\ntype = "text"\ndefault = "x"\ndoc = ""', "has other values"),
    ],
)
def test_a_description_that_makes_no_sense_of_them_is_refused(tables, expected, tmp_path):
    with pytest.raises(BadInput, match=expected):
        entry_of(tmp_path, tables=tables)


UNSUPPORTED = """
[[unsupported]]
settings = { http2 = true, tls = false }
before = "1.10"
reason = "clear text has no HTTP/2 before 1.10."
"""


def test_what_an_older_version_cannot_do_is_refused_with_its_reason(tmp_path):
    entry = entry_of(tmp_path, tables=UNSUPPORTED)
    with pytest.raises(UnusableSetting) as refused:
        find_server(entry, {"http2": True})
    assert refused.value.setting == "http2"
    assert (
        " 1.2 cannot be started with http2 = true, tls = false: clear text has no HTTP/2 before 1.10."
        in str(refused.value)
    )


@pytest.mark.parametrize(
    ("settings", "version"),
    [
        ({"http2": True, "tls": True}, "1.2"),
        ({"http2": False}, "1.2"),
        ({"http2": True}, "1.10"),
        ({"http2": True}, "2.0"),
    ],
)
def test_another_combination_and_a_newer_version_are_had(settings, version, tmp_path):
    entry = entry_of(tmp_path, tables=UNSUPPORTED)
    assert isinstance(find_server(entry, settings, Overrides(version=version)), FoundServer)


@pytest.mark.parametrize(
    ("version", "other", "expected"),
    [
        ("1.22.1", "1.25.1", True),
        ("1.25.1", "1.25.1", False),
        ("1.9.15", "1.25.1", True),
        ("1.25", "1.25.1", True),
        ("2.6.2", "2.6", False),
        ("1.22.1-9+deb12u3", "1.22.1", False),
        ("v20.19", "20.20", True),
        ("own build", "1.0", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version, other, expected):
    assert is_before(version, other) == expected


def test_the_key_of_a_certificate_is_its_owners_alone(tmp_path):
    files = CertificateFiles(tmp_path / "certificates")
    files.write("ecdsa", "127.0.0.1", None)
    assert files.key.stat().st_mode & 0o777 == 0o600
    assert files.certificate.stat().st_mode & 0o777 == 0o644
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)


def test_no_two_starts_have_the_same_key():
    first, again = (_engine.make_certificates("ecdsa", ["localhost"]) for _ in range(2))
    assert not set(first) & set(again)


def test_an_unknown_kind_and_an_impossible_name_are_refused():
    with pytest.raises(ValueError, match="expected ecdsa or rsa"):
        _engine.make_certificates("dsa", ["localhost"])
    with pytest.raises(ValueError, match=r"."):
        _engine.make_certificates("ecdsa", ["ä"])
