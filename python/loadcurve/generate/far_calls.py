"""What an agent answers about parts of loads, see :mod:`loadcurve.generate.far_load`."""

from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from loadcurve.generate.looking import ShownProgress
from loadcurve.machines.far_call import NOTHING, FarCall, FarRecord, Line
from loadcurve.record import Record, Time
from loadcurve.result.cpu_time import Throttling
from loadcurve.result.link import InterfaceInLoad


class FarPart(Record):
    """What a machine records of a load."""

    part: str
    """In the form that the engine merges."""
    steal_s: Time | None
    """In the window, of the CPU that lost most."""
    throttling: Throttling | None
    suspended_s: Time
    link: InterfaceInLoad | None = None


class FarEcho(FarRecord):
    """Where the echo that compares clocks is, and the key of its datagrams."""

    address: Line
    key: Annotated[str, Field(pattern="^([0-9a-f]{2}){16}$")]


PUT: Final = FarCall("load.put", NOTHING)
SEAL: Final = FarCall("load.seal", NOTHING)
CLOCK: Final = FarCall("load.clock", TypeAdapter(FarEcho))
REACH: Final = FarCall("load.reach", NOTHING)
START: Final = FarCall("load.start", NOTHING)
READY: Final = FarCall("load.ready", NOTHING)
RUN: Final = FarCall("load.run", TypeAdapter(FarPart), TypeAdapter(ShownProgress), None)
"""It takes as long as the load; who asks knows that."""
STOP: Final = FarCall("load.stop", NOTHING)
