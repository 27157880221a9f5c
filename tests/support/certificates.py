"""Certificates for tests, made anew by openssl: authorities, and what they issue to servers and clients."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAME = "localhost"
"""The host that the certificates of servers name; 127.0.0.1 is not among them."""


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, each in a file of PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """Who issues certificates, and is trusted or not."""

    issued: Issued

    @property
    def certificate(self) -> Path:
        """What those who trust it must have."""
        return self.issued.certificate

    def issue(self, name: str) -> Issued:
        """Issue a certificate to a host, or to a user of a database."""
        issued = _in(self.certificate.parent, name)
        signed_by = ["-CA", self.certificate, "-CAkey", self.issued.key]
        names = ["-addext", f"subjectAltName=DNS:{name}", "-addext", "basicConstraints=critical,CA:FALSE"]
        _make(issued, name, *signed_by, *names)
        return issued


def expired(issued: Issued) -> Issued:
    """Return the certificate of an authority as it was valid until yesterday, with the same key."""
    old = Issued(issued.certificate.with_suffix(".expired.crt"), issued.key)
    files = ["-in", issued.certificate, "-signkey", issued.key, "-out", old.certificate]
    subprocess.run(["openssl", "x509", *files, "-days", "-1"], capture_output=True, check=True)
    return old


def make_authority(folder: Path, name: str) -> Authority:
    """Make an authority whose files are in a folder of its name; skips the test without openssl's command."""
    (folder / name).mkdir()
    issued = _in(folder / name, "authority")
    _make(issued, name)
    return Authority(issued)


def _in(folder: Path, name: str) -> Issued:
    return Issued(folder / f"{name}.crt", folder / f"{name}.key")


def _make(issued: Issued, name: str, *options: str | Path) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", issued.key, "-out", issued.certificate]
    command = ["openssl", "req", "-x509", *kind, "-subj", f"/CN={name}", *files, *options]
    try:
        subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("needs openssl, which is not installed; on Debian: apt-get install openssl")
    issued.key.chmod(0o600)
