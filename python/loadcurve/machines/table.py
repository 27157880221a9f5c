"""The tables ``[machines.NAME]`` of a study: other machines, and how they are reached."""

import ipaddress
import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem
from loadcurve.toml.quantities import LinkSpeed
from loadcurve.toml.values import CpuList, SourceAddresses, Text

HERE: Final = "here"
"""The name of this machine, which no table has."""
RAY: Final = "ray"
"""Stands for the nodes of a Ray cluster as load machines."""


def _destination(text: str) -> str:
    # One that begins with a hyphen would be an option of ssh, which can run commands here.
    if text.startswith("-") or re.search(r"\s", text) or not text:
        raise own_problem(f"found {show(text)}; expected an ssh destination")
    return text


def _numeric(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        if _is_of_ipv6(text):
            raise own_problem(
                f"found {show(text)}, an IPv6 address, which is not supported yet; expected "
                'the IPv4 address of the same machine, such as "10.0.0.5"'
            ) from None
        raise own_problem(f'found {show(text)}; expected a numeric address, such as "10.0.0.5"') from None


def _is_of_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text.strip("[]"))
    except ValueError:
        return False
    return True


class MachineTable(TomlTable):
    """Another machine, on which nothing but sshd and Python is needed."""

    ssh: Annotated[
        Text,
        AfterValidator(_destination),
        Expected('an ssh destination, such as "bench@web.example"'),
    ]
    """The ssh destination: a host, or an alias in `~/.ssh/config`, optionally with a user."""
    address: (
        Annotated[Text, AfterValidator(_numeric), Expected('a numeric address, such as "10.0.0.5"')] | None
    ) = None
    """The address (IPv4) that its servers listen on; that of the host of `ssh` unless it is given."""
    type: Text | None = None
    """Its machine type, such as `"t2.micro"`, from whose price its servers' prices follow."""
    link_speed_bits_per_s: LinkSpeed | None = Field(None, alias="link_speed")
    """The speed of its link in each direction, if its driver reports none, as on many rented machines."""
    source_addresses: SourceAddresses = Field(default_factory=list)
    """Its addresses from which connections come in turn, if it sends load on web servers. Those of this
    machine are in [load].
    """
    cpus: CpuList | None = None
    """The CPUs there to which the threads of the load are bound in turn, where it sends load; its system
    places them unless they are given. Those of servers are `server_cpus` in `[host]`.
    """
