"""The far side of a load from several machines: the role ``load`` of the agent.

A part is started, reports when its connections are open, and begins at a moment of the clock here. Nothing is
asked of it while it runs; it reports on its own how far it is.
"""

import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from loadcurve._engine import ClockEcho, Load
from loadcurve.errors import BadInput, NothingMeasured, refusal, sentence
from loadcurve.generate.clocks import Clocks
from loadcurve.generate.hosts import numeric_host
from loadcurve.generate.looking import LOOK_INTERVAL_S, WindowWatch, progress_of, start_refusals
from loadcurve.generate.plan_files import with_files_at
from loadcurve.host.link import interface_to
from loadcurve.machines.agent import Call, CallFailed, Handler
from loadcurve.machines.files import FilesInMemory
from loadcurve.probe.figures import Window
from loadcurve.probe.link_watch import LinkWatch
from loadcurve.result.link import InterfaceInLoad, InterfaceRecord

READY_INTERVAL_S: Final = 0.002
LINK_INTERVAL_S: Final = 0.1
NS_PER_S: Final = 1e9
KEY_BYTES: Final = 16
REACH_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True)
class PlannedWindow:
    """When the window of a load is, from its start; ``None`` where something else than time ends it."""

    warmup_s: float
    duration_s: float | None

    def after(self, begin_s: float) -> Window:
        """Return the window of a load that began then and has just ended."""
        start_s, now_s = begin_s + self.warmup_s, time.monotonic()
        return Window(start_s, now_s if self.duration_s is None else min(start_s + self.duration_s, now_s))


@dataclass
class _Part:
    """A part that has been started, and what is watched beside it."""

    load: Load
    watch: WindowWatch
    clocks: Clocks
    """As they were at the start."""
    interface: InterfaceRecord | None
    """The one by which the load leaves."""
    window: PlannedWindow
    has_begun: bool = False


class AgentRole:
    """Carries out parts of loads, and lets others compare their clocks with the one here."""

    handlers: Mapping[str, Handler]

    def __init__(self) -> None:
        """Begin without a part."""
        self._parts: dict[str, _Part] = {}
        self._lock = threading.Lock()
        self._echo: ClockEcho | None = None
        self._files = FilesInMemory()
        self.handlers = {
            "put": lambda call: self._files.put(**call.arguments),
            "seal": lambda call: self._files.seal(**call.arguments),
            "clock": self._clock,
            "reach": _reach,
            "start": self._start,
            "ready": self._ready,
            "run": self._run,
            "stop": self._stop,
        }

    def close(self) -> None:
        """End every part; what was measured is lost, because nobody is there to have it."""
        with self._lock:
            parts, echo = [*self._parts.values()], self._echo
            self._parts.clear()
        for part in parts:
            part.load.stop()
        if echo is not None:
            echo.stop()

    def _clock(self, call: Call) -> dict[str, str]:
        """Start an echo on an address of this machine; return where it is, and its key."""
        key = secrets.token_bytes(KEY_BYTES)
        try:
            echo = ClockEcho.start(call.arguments["address"], key)
        except ValueError as error:
            raise BadInput(f"address {call.arguments['address']}: {error}") from error
        with self._lock:
            before, self._echo = self._echo, echo
        if before is not None:
            before.stop()
        return {"address": echo.address or "", "key": key.hex()}

    def _start(self, call: Call) -> None:
        """Start a share of a load: its connections are opened."""
        arguments = call.arguments
        places = {name: self._files.path(digest) for name, digest in arguments["files"].items()}
        text = with_files_at(arguments["plan"], places) if places else arguments["plan"]
        [[_, plan]] = json.loads(text).items()
        watch, clocks = WindowWatch(plan["warmup_s"], plan["cpus"]), Clocks.read()
        with start_refusals():
            load = Load.start_part(text, arguments["index"], arguments["count"])
        interface = interface_to(numeric_host(plan["work"]) or "")
        window = PlannedWindow(plan["warmup_s"], plan["stop"].get("duration_s"))
        with self._lock:
            self._parts[arguments["load"]] = _Part(load, watch, clocks, interface, window)

    def _ready(self, call: Call) -> None:
        """Wait until the connections are open."""
        part = self._part(call)
        while not (part.load.is_ready() or part.load.is_finished()):
            time.sleep(READY_INTERVAL_S)

    def _run(self, call: Call) -> dict[str, Any]:
        """Begin at a moment of the clock here, report how far the part is, and return what it records."""
        part = self._part(call)
        try:
            part.load.begin(call.arguments["at_ns"])
        except RuntimeError as error:
            raise NothingMeasured(f"its part of the load could not start: {error}") from error
        part.has_begun = True
        interface = part.interface
        with LinkWatch(None if interface is None else interface.name, LINK_INTERVAL_S) as watch:
            self._look_until_end(part, call)
            use = watch.use_within(part.window.after(call.arguments["at_ns"] / NS_PER_S))
        link = interface and InterfaceInLoad(interface=interface, use=use).model_dump(mode="json")
        return {**self._brought_home(call), "link": link}

    def _look_until_end(self, part: _Part, call: Call) -> None:
        report_s, reported_s = call.arguments["report_s"], time.monotonic()
        while not part.load.is_finished():
            time.sleep(LOOK_INTERVAL_S)
            shown = part.load.progress()
            part.watch.look(progress_of(shown))
            if time.monotonic() - reported_s >= report_s:
                reported_s = time.monotonic()
                call.tell(shown)

    def _brought_home(self, call: Call) -> dict[str, Any]:
        with self._lock:
            part = self._parts.pop(call.arguments["load"])
        steal_s, throttling = part.watch.withheld_until_end()
        after = Clocks.read()
        return {
            "part": part.load.finish(),
            "steal_s": steal_s,
            "throttling": throttling and throttling.model_dump(),
            "suspended_s": after.suspended_s(part.clocks),
        }

    def _stop(self, call: Call) -> None:
        """End a part now; where it has not begun, that is the end of it."""
        with self._lock:
            part = self._parts.get(call.arguments["load"])
            if part is not None and not part.has_begun:
                del self._parts[call.arguments["load"]]
        if part is not None:
            part.load.stop()

    def _part(self, call: Call) -> _Part:
        with self._lock:
            part = self._parts.get(call.arguments["load"])
        if part is None:
            raise CallFailed(
                "no_such_part", "this part of the load was not started, or its result was already fetched"
            )
        return part


def _reach(call: Call) -> None:
    """Open and close one connection to a server, so that a firewall between is noticed before a load."""
    host, port = call.arguments["host"], call.arguments["port"]
    try:
        socket.create_connection((host, port), REACH_TIMEOUT_S).close()
    except OSError as error:
        raise NothingMeasured(
            f"a connection from there to port {port} of {host} failed: {sentence(refusal(error))} Check the "
            "address of the server, and the firewall between"
        ) from error


def clean_up_after_killed() -> None:
    """Do nothing: a part lives in the process that was killed."""
