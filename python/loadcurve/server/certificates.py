"""The certificate of one start of a server, and the files that hold it."""

import os
from dataclasses import dataclass
from pathlib import Path

from loadcurve._engine import make_certificates
from loadcurve.errors import sentence
from loadcurve.server.failure import ServerFailure
from loadcurve.server.privileges import ServerUser

CERTIFICATES_FOLDER = "certificates"
"""The folder within that of the start; the server reads there, and only the harness writes."""

LISTENED_NAMES = ("localhost", "127.0.0.1", "::1")
"""What a server here is called, wherever on this machine it is asked."""


@dataclass(frozen=True)
class CertificateFiles:
    """The files of one start, in PEM."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        return self.folder / "authority.pem"

    @property
    def certificate(self) -> Path:
        """What the server presents."""
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        """The key of that, which only the server's user may read."""
        return self.folder / "certificate-key.pem"

    @property
    def names(self) -> dict[str, str]:
        """The files by the names that descriptions have for them."""
        return {"certificate_file": str(self.certificate), "certificate_key_file": str(self.key)}

    def write(self, kind: str, address: str, user: ServerUser | None) -> None:
        """Make an authority and a certificate for a server that listens on an address, and write them.

        Raises:
            OSError: the files cannot be written.
            ServerFailure: this build of Loadcurve has no TLS ("not_started").

        """
        names = [*dict.fromkeys((*LISTENED_NAMES, address))]
        try:
            authority, certificate, key = make_certificates(kind, names)
        except RuntimeError as error:
            raise ServerFailure(
                "not_started", sentence(f"The server cannot be started with TLS: {error}")
            ) from None
        self.folder.mkdir(mode=0o700)
        self.folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for file, text, mode in (
            (self.authority, authority, 0o644),
            (self.certificate, certificate, 0o644),
            (self.key, key, 0o600),
        ):
            file.touch(mode=0o600, exist_ok=False)
            file.write_text(text, encoding="ascii")
            file.chmod(mode)
        if user is not None:
            os.chown(self.key, *user.ids)


NO_FILES = {"certificate_file": "", "certificate_key_file": ""}
"""What the names stand for where a server listens in clear text."""
