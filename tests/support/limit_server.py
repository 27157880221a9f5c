"""The package's own server `limit`, started for tests of the load."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.spawn import ends_with_parent


@contextmanager
def limit_server(
    content: Path,
    certificate: Path | None = None,
    key: Path | None = None,
    *,
    within: Sequence[str] = (),
    host: str = "127.0.0.1",
    http2: bool = False,
    http3: bool = False,
    faults: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the address of a server of the files in ``content``, of TLS where it has a certificate.

    With ``http2`` and ``http3`` it speaks these, too; ``faults`` are options of its script of faults.

    ``within`` are the words before its command, such as those that lead into a network with the host.
    """
    program = NATIVE_FOLDER / "loadcurve-server"
    command = [*within, program, "limit", "--listen", f"{host}:0", "--root", content, *faults]
    if http2:
        command += ["--http2", "true"]
    if http3:
        command += ["--http3", "true"]
    if certificate is not None and key is not None:
        command += ["--certificate", certificate, "--certificate-key", key]
    with subprocess.Popen([*ends_with_parent(), *command], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            # It says where it listens, once it does.
            yield server.stdout.readline().removeprefix("listening on ").strip()
        finally:
            server.kill()
