"""The system's OpenSSH client as the way to another machine, and what it says in words that help.

One process of ssh is the only connection to a machine: it brings what the machine lacks, and then leads to
the agent. So the user's configuration holds, with its aliases, jump hosts, agents and certificates.
"""

import contextlib
import re
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.machines.bring import brought, first_command
from loadcurve.machines.channel import Channel, MachineLost
from loadcurve.machines.far_call import removed_of
from loadcurve.machines.messages import BadMessage, decoded
from loadcurve.machines.short_process import ended_within
from loadcurve.machines.table import MachineTable

CONNECT_TIMEOUT_S = 15
REMOVE = b'{"remove": true}\n'
GREETING_TIMEOUT_S = 60.0
CONFIGURATION_TIMEOUT_S = 10.0
OPTIONS = (
    "-T",
    # Nobody is there to type a password, and what forwards or runs something is not wanted here.
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={CONNECT_TIMEOUT_S}"),
    *("-o", "ControlMaster=no"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    *("-o", "ForwardX11=no"),
    *("-o", "PermitLocalCommand=no"),
    *("-o", "RemoteCommand=none"),
)
"""A shared connection of the user's own is used, and none is left behind."""

ADVICE: Sequence[tuple[str, str]] = (
    (r"Could not resolve hostname", "check the name, or give it in ~/.ssh/config"),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key .* has changed",
        "its key has changed: make sure that it is the same machine, then remove the old key",
    ),
    (
        r"Host key verification failed|No .* host key is known",
        "its key is not known here: connect once by hand and compare it, with ssh {destination}",
    ),
    (
        r"Permission denied|Too many authentication failures",
        (
            "it accepts none of the keys: install one with ssh-copy-id {destination}; add a key with a "
            "passphrase to ssh-agent with ssh-add"
        ),
    ),
    (r"Connection refused", "sshd does not listen there: start it, or set the port in ~/.ssh/config"),
    (
        r"Connection timed out|timed out|No route to host|Network is unreachable",
        "nothing answers there: check that the machine runs, and the firewalls on the way",
    ),
    (
        r"python3: (command )?not found|no Python",
        "install Python 3.11 or newer there, such as with: apt-get install python3",
    ),
)
"""What ssh says, and what to do about it."""


@dataclass(frozen=True)
class SshMachine:
    """A machine of a study that ssh leads to."""

    name: str
    table: MachineTable

    @property
    def command(self) -> list[str]:
        """The command that leads to a shell there, to be followed by that shell's command."""
        return ["ssh", *OPTIONS, "--", self.table.ssh]

    def address(self) -> str:
        """Return the numeric address where its servers listen; raises BadInput where it is not known."""
        if self.table.address is not None:
            return self.table.address
        host = self._host()
        try:
            found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            text = (
                f"machine {self.name}: no IPv4 address is known for {host}, which ssh connects to: "
                f'set it, such as address = "10.0.0.5", in [machines.{self.name}]'
            )
            raise BadInput(text) from None
        return str(found[0][4][0])

    def connect(self) -> Channel:
        """Return a channel to the agent there, which is brought along where it is not there yet.

        Raises:
            MachineLost: the machine is not reached, or not with ssh alone; the text says what to do.
            NothingMeasured: it cannot run the agent.

        """
        try:
            return Channel(
                self.name,
                [*self.command, first_command()],
                greeting_timeout_s=GREETING_TIMEOUT_S,
                before_greeting=brought,
            )
        except MachineLost as lost:
            raise self._explained(lost) from None

    def remove(self) -> tuple[str, list[str]]:
        """Remove what was brought there; return the folder, and what of ours was in it.

        Raises ``MachineLost``: the machine is not reached; the text says what to do.
        """
        try:
            asked = ended_within([*self.command, first_command()], REMOVE, GREETING_TIMEOUT_S)
        except TimeoutError:
            text = f"it did not answer within {GREETING_TIMEOUT_S:g} s"
            raise MachineLost(self.name, text) from None
        except OSError as error:
            raise MachineLost(self.name, f"ssh cannot be started: {error}") from None
        for line in reversed(asked.stdout.splitlines()):
            with contextlib.suppress(BadMessage):
                if "removed" in (answer := decoded(line)):
                    found = removed_of(answer)
                    return found.folder, found.removed
        said = asked.stderr.decode(errors="replace").strip()
        status = f"the connecting process ended with status {asked.returncode}"
        raise self._explained(MachineLost(self.name, status, said))

    def _explained(self, lost: MachineLost) -> MachineLost:
        tried = f"{lost.why} (tried: ssh {self.table.ssh})"
        advice = next((advice for pattern, advice in ADVICE if re.search(pattern, lost.said)), None)
        if advice is None:
            return MachineLost(self.name, tried, lost.said)
        done = f"{tried}; {advice.format(destination=self.table.ssh)}"
        return MachineLost(self.name, done, lost.said)

    def _host(self) -> str:
        """Return the host that ssh connects to, as its configuration says."""
        try:
            asked = subprocess.run(  # noqa: S603 -- the system's ssh, which only prints its configuration
                ["ssh", "-G", "--", self.table.ssh],  # noqa: S607
                capture_output=True,
                text=True,
                timeout=CONFIGURATION_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NothingMeasured(f"machine {self.name}: ssh cannot be started: {error}") from None
        found = re.search(r"^hostname (\S+)$", asked.stdout, re.MULTILINE)
        if found is None:
            raise BadInput(f"machine {self.name}: ssh does not know {self.table.ssh}: {asked.stderr.strip()}")
        return found[1]
