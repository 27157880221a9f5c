"""What the agent does for servers on its machine; :mod:`loadcurve.server.elsewhere` calls it."""

import base64
import errno
import json
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from loadcurve.errors import NothingMeasured
from loadcurve.host.facts import host_facts
from loadcurve.host.fitness import check_host_of_servers
from loadcurve.host.link import interface_to
from loadcurve.machines.agent import Call, CallFailed
from loadcurve.probe.figures import Window
from loadcurve.probe.link_watch import LinkWatch
from loadcurve.result.records import ContentRecord
from loadcurve.server.asking import Json, container_of, overrides_of, transport_as_json
from loadcurve.server.catalog import Catalog, load_catalog
from loadcurve.server.container.found import location_of
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.found_record import container_record, digest_of
from loadcurve.server.here import Server
from loadcurve.server.installed.place import installed_server
from loadcurve.server.ledger import LedgerEntry, clean_up_after_killed_runs
from loadcurve.server.location import LOOPBACK, ThisMachine
from loadcurve.server.presence import announce, neighbours
from loadcurve.server.probing import Probe
from loadcurve.server.settings import UnsupportedVersion, UnusableSetting

LOOK_INTERVAL_S = 0.5
"""How often is looked whether a server lives."""
KNOCK_TIMEOUT_S = 10.0
LOCAL_ADDRESS = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")


@dataclass
class Started:
    """A server that was started, with what watches it."""

    server: Server
    probe: Probe | None = None
    link: LinkWatch | None = None
    is_stopped: bool = False


class AgentRole:
    """Finds, builds, starts, probes and stops servers, as a run on this machine would.

    A server ends with the thread that started it, so one thread does all that concerns those that live.
    """

    def __init__(self) -> None:
        """Begin without a server."""
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="servers")
        self._machine = ThisMachine()
        self._numbers = count(1)
        self._started: dict[int, Started] = {}
        self._found: dict[str, FoundServer] = {}
        self._files = ReceivedFiles()
        self._goes = threading.Event()
        handlers: dict[str, Callable[[Call], object]] = {
            "prepare": self._prepare,
            "knock": self._knock,
            "installed": lambda call: _installed(call.arguments["name"]),
            "fitness": lambda _: [asdict(check) for check in check_host_of_servers()],
            "has": lambda call: self._files.has(call.arguments["digest"]),
            "put": lambda call: self._files.put(**call.arguments),
            "seal": lambda call: self._files.seal(**call.arguments),
            "find": self._find,
            "watch": self._watch,
            **{
                name: self._kept(work)
                for name, work in {
                    "start": self._start,
                    "stop": self._stop,
                    "raise_if_exited": self._raise_if_exited,
                    "limit_use": self._limit_use,
                    "log_tail": self._log_tail,
                    "probe": self._probe,
                    "leave_probe": self._leave_probe,
                    "observed": self._observed,
                }.items()
            },
        }
        self.handlers = {name: _in_words(handler) for name, handler in handlers.items()}

    def close(self) -> None:
        """Stop every server, and remove what was received."""
        self._goes.set()
        self._keeper.submit(self._stop_all).result()
        self._files.remove()

    def _kept(self, work: Callable[[Call], object]) -> Callable[[Call], object]:
        """Return a handler that has its work done by the thread that keeps the servers."""
        return lambda call: self._keeper.submit(work, call).result()

    def _prepare(self, call: Call) -> Json:
        """Take the address on which servers are to listen; return what machine this is."""
        address = str(call.arguments["address"])
        _require_own(address)
        self._machine = ThisMachine(address)
        cleaned = [one.text for one in clean_up_after_killed_runs()]
        others = sorted({one.text for one in neighbours()})
        announce()
        facts = host_facts()
        return {"facts": facts, "cpus": facts["cpus"], "cleaned": cleaned, "others": others}

    def _knock(self, call: Call) -> Json | None:
        """Listen on a free port, which is reported, until this number of connections have come.

        Returns the interface that leads to where they came from, where it is known.
        """
        with socket.create_server((self._machine.address, 0)) as listener:
            listener.settimeout(KNOCK_TIMEOUT_S)
            call.tell(listener.getsockname()[1])
            try:
                for _ in range(call.arguments["connections"]):
                    connection, (client, *_) = listener.accept()
                    connection.close()
            except TimeoutError:
                return None
        interface = interface_to(client)
        return None if interface is None else interface.model_dump(mode="json")

    def _find(self, call: Call) -> Json:
        found = self._looked_for(call.arguments, call.tell)
        if isinstance(found, MissingServer):
            fault = found.fault
            words = fault and {"code": fault.code, "text": fault.text, "log_tail": fault.log_tail}
            return {"missing": {"reason": found.reason, "install": found.install, "fault": words}}
        record = container_record(found)
        return {
            "found": {
                "version": found.version,
                "binary": str(found.binary),
                "binary_sha256": digest_of(found),
                "container": record and record.model_dump(mode="json"),
            }
        }

    def _looked_for(
        self, asked: Mapping[str, Any], say: Callable[[str], None]
    ) -> FoundServer | MissingServer:
        """Look for a server, and build it where that is all it lacks."""
        key = json.dumps(asked, sort_keys=True)
        if key in self._found:
            return self._found[key]
        catalog = self._catalog(asked["catalog"])
        entry = catalog[asked["entry"]]
        location = location_of(entry, container_of(asked), asked["start"], say, self._machine)
        overrides = overrides_of(asked, location)
        found = find_server(entry, asked["settings"], overrides)
        if isinstance(found, MissingServer) and found.build is not None:
            found.build.run(say)
            found = find_server(entry, asked["settings"], overrides)
        if isinstance(found, FoundServer):
            self._found[key] = found
        return found

    def _catalog(self, digest: str | None) -> Catalog:
        return load_catalog([] if digest is None else [self._files.folder(digest)])

    def _start(self, call: Call) -> Json:
        found = self._looked_for(call.arguments["asked"], call.tell)
        if isinstance(found, MissingServer):
            raise found.failure()
        content = call.arguments["content"]
        folder = None if content is None else self._files.folder(content)
        records = {} if content is None else self._files.records(content)
        server = Server(found, folder, records, call.arguments["cpus"])
        server.__enter__()
        number = next(self._numbers)
        self._started[number] = Started(server)
        return {
            "server": number,
            "port": server.port,
            "url": server.url,
            "settings": dict(server.settings),
            "configuration": dict(server.configuration),
            "transport": transport_as_json(server.transport),
        }

    def _stop(self, call: Call) -> None:
        started = self._started.pop(call.arguments["server"], None)
        if started is not None:
            _stop(started)

    def _stop_all(self) -> None:
        for number in list(self._started):
            _stop(self._started.pop(number))

    def _raise_if_exited(self, call: Call) -> None:
        self._of(call).server.raise_if_exited()

    def _limit_use(self, call: Call) -> Json | None:
        use = self._of(call).server.limit_use()
        return None if use is None else use.model_dump(mode="json")

    def _log_tail(self, call: Call) -> str:
        started = self._started.get(call.arguments["server"])
        return "" if started is None else started.server.log_tail(call.arguments["line_count"])

    def _probe(self, call: Call) -> None:
        started = self._of(call)
        cpus, interval_s = call.arguments["cpus"], call.arguments["interval_s"]
        started.probe = started.server.probe(cpus, interval_s).__enter__()
        started.link = LinkWatch(call.arguments["interface"], interval_s, cpus).__enter__()

    def _leave_probe(self, call: Call) -> None:
        _leave_probe(self._of(call))

    def _observed(self, call: Call) -> Json:
        """Return what was seen in a window of this machine's clock, of a server that must live."""
        started = self._of(call)
        started.server.raise_if_exited()
        if started.probe is None:
            raise CallFailed("fault", "the probe was not started")
        window = Window(call.arguments["start_s"], call.arguments["end_s"])
        seen = started.probe.observed_within(window, call.arguments["answered"])
        use = None if started.link is None else started.link.use_within(window)
        return {
            "probe": seen.model_dump(mode="json"),
            "link": None if use is None else use.model_dump(mode="json"),
        }

    def _watch(self, call: Call) -> None:
        """Return when a server is stopped, and fail when it has ended by itself."""
        started = self._of(call)
        while not (started.is_stopped or self._goes.wait(LOOK_INTERVAL_S)):
            self._keeper.submit(_look_after, started).result()

    def _of(self, call: Call) -> Started:
        started = self._started.get(call.arguments["server"])
        if started is None:
            raise CallFailed("fault", "the server is not started, or already stopped")
        return started


def _look_after(started: Started) -> None:
    if not started.is_stopped:
        started.server.raise_if_exited()


def _stop(started: Started) -> None:
    started.is_stopped = True
    try:
        _leave_probe(started)
    finally:
        started.server.stop()


def _leave_probe(started: Started) -> None:
    if started.link is not None:
        started.link.__exit__(None, None, None)
        started.link = None
    if started.probe is not None:
        started.probe.__exit__(None, None, None)
        started.probe = None


class ReceivedFiles:
    """Folders of files that came from the near side, by digest; they go when the agent does."""

    def __init__(self) -> None:
        """Begin without any."""
        self._entry: LedgerEntry | None = None
        self._records: dict[str, Mapping[str, ContentRecord]] = {}

    def has(self, digest: str) -> bool:
        """Say whether a folder is whole."""
        return digest in self._records

    def put(self, *, digest: str, name: str, data: str, mode: int, begins: bool) -> None:
        """Append to a file of a folder, or begin it; every user may read it, as servers do as other users.

        One that came before in part, as where the disk was full, is begun anew.
        """
        folder = self._folder(digest)
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()):
            raise CallFailed("bad_input", f"{name} is outside of its folder")
        for parent in reversed(file.relative_to(folder).parents):
            (folder / parent).mkdir(exist_ok=True, parents=True)
            (folder / parent).chmod(0o755)
        with file.open("wb" if begins else "ab") as stream:
            stream.write(base64.b64decode(data))
        file.chmod(0o644 | mode & 0o111)

    def seal(self, digest: str, files: Mapping[str, Json]) -> None:
        """Compare a folder with what it should hold; from here on it is whole."""
        expected = {name: ContentRecord.model_validate(one) for name, one in files.items()}
        found = content_of_folder(self._folder(digest))
        if found != expected:
            wrong = [name for name in expected if found.get(name) != expected[name]]
            raise CallFailed("fault", f"files arrived damaged: {', '.join(wrong)}")
        self._records[digest] = expected

    def folder(self, digest: str) -> Path:
        """Return where a whole folder is."""
        if digest not in self._records:
            raise CallFailed("fault", f"the files {digest} have not arrived")
        return self._folder(digest)

    def records(self, digest: str) -> Mapping[str, ContentRecord]:
        """Return what a whole folder holds."""
        return self._records[digest]

    def remove(self) -> None:
        """Remove all of them."""
        if self._entry is not None:
            self._entry.remove()
            self._entry = None

    def _folder(self, digest: str) -> Path:
        if re.fullmatch("[0-9a-f]{64}", digest) is None:
            raise CallFailed("bad_input", f"{digest} is not a digest")
        if self._entry is None:
            # The ledger knows the folder, so that it goes should this process be killed.
            self._entry = LedgerEntry("content", Path(tempfile.gettempdir()).resolve())
        folder = self._entry.start.private_folder / digest
        folder.mkdir(parents=True, exist_ok=True)
        for one in (folder.parent, folder):
            one.chmod(0o755)
        return folder


def _installed(name: str) -> str | None:
    installed = installed_server(name)
    return None if installed is None else str(installed.program)


def _in_words(handler: Callable[[Call], object]) -> Callable[[Call], object]:
    """Return a handler whose failures the near side understands as its own."""

    def handle(call: Call) -> object:
        try:
            return handler(call)
        except ServerFailure as failure:
            raise CallFailed(
                "server_failure", failure.text, code=failure.code, log_tail=failure.log_tail
            ) from None
        except UnusableSetting as error:
            raise CallFailed("unusable_setting", str(error), **_details_of(error)) from None

    return handle


def _details_of(error: UnusableSetting) -> Json:
    """Return what the near side needs to raise the same error, as :class:`far_calls.SettingFault` has it."""
    if isinstance(error, UnsupportedVersion):
        return {"setting": error.setting, "unsupported": {"what": error.what, "reason": error.reason}}
    return {"setting": error.setting}


def _require_own(address: str) -> None:
    """Raise ``NothingMeasured`` where this machine cannot listen on an address."""
    try:
        with socket.socket() as listener:
            listener.bind((address, 0))
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        own = ", ".join(one for one in own_addresses() if not one.startswith("127.")) or LOOPBACK
        text = (
            f"servers cannot listen on {address}, which is not an address of this machine; its addresses "
            f"are {own}"
        )
        raise NothingMeasured(text) from None


def own_addresses(table: Path = Path("/proc/net/fib_trie")) -> list[str]:
    """Return the machine's own addresses of IPv4, as the kernel's table of routes has them."""
    try:
        return [*dict.fromkeys(LOCAL_ADDRESS.findall(table.read_text(encoding="ascii")))]
    except OSError:
        return []


def clean_up_after_killed() -> None:
    """End what an agent that was killed has left here."""
    clean_up_after_killed_runs()
