"""By what a program is ready that is asked for nothing: it accepts a connection, or has run for a moment."""

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcurve.loads.table import LoadTable
from loadcurve.server.quic_port import speaks_quic

SETTLED_S = 0.5
"""A program that listens nowhere is ready when it has run for so long."""


@dataclass(frozen=True)
class OpenPort:
    """The port of a program, see :class:`loadcurve.server.live.Service`."""

    address: str
    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"tcp://{self.address}:{self.port}"

    @property
    def sign_of_life(self) -> str:
        """What a ready program does, in words."""
        return f"accept a connection on port {self.port}"

    def refusal(self, timeout_s: float) -> str | None:
        """Connect, and close; return why that failed."""
        try:
            with socket.create_connection((self.address, self.port), timeout_s):
                return None
        except OSError as error:
            return f"the last attempt failed with {error.strerror or error}"

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Do nothing: what it should do is not known."""


@dataclass(frozen=True)
class QuicPort:
    """The UDP port of a program, see :class:`loadcurve.server.live.Service`."""

    address: str
    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"udp://{self.address}:{self.port}"

    @property
    def sign_of_life(self) -> str:
        """What a ready program does, in words."""
        return f"answer QUIC on UDP port {self.port}"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask which versions it speaks; return why that failed."""
        return None if speaks_quic(self.address, self.port, timeout_s) else "the last attempt had no answer"

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Do nothing: what it should do is not known."""


@dataclass(frozen=True)
class OpenSocket:
    """The Unix socket of a program, see :class:`loadcurve.server.live.Service`."""

    path: Path

    @property
    def url(self) -> str:
        """Where it is."""
        return f"unix:{self.path}"

    @property
    def sign_of_life(self) -> str:
        """What a ready program does, in words."""
        return f"accept a connection on its socket {self.path}"

    def refusal(self, timeout_s: float) -> str | None:
        """Connect, and close; return why that failed."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(timeout_s)
            try:
                asking.connect(str(self.path))
            except OSError as error:
                return f"the last attempt failed with {error.strerror or error}"
        return None

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Do nothing: what it should do is not known."""


@dataclass(frozen=True)
class Life:
    """A program that listens nowhere, from a moment on."""

    since_s: float = field(default_factory=time.monotonic)

    @property
    def url(self) -> str:
        """Return none."""
        return ""

    @property
    def sign_of_life(self) -> str:
        """What a ready program does, in words."""
        return f"run for {SETTLED_S:g} s"

    def refusal(self, _timeout_s: float) -> str | None:
        """Say for how long it has run, unless that is long enough."""
        ran_s = time.monotonic() - self.since_s
        return None if ran_s >= SETTLED_S else f"it has run for {ran_s:.1f} s"

    def verify(self, paths: Sequence[str], load: LoadTable | None = None, /) -> None:
        """Do nothing: what it should do is not known."""
