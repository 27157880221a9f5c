"""Whatever a machine answers, it is used, or lost with a reason: no other error, and nobody waits."""

import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from loadcurve.errors import LoadcurveError
from loadcurve.generate import load_machine
from loadcurve.generate.load_machine import AgentMachine
from loadcurve.machines import channel as near
from loadcurve.machines.agent_package import HERE, agent_package
from loadcurve.machines.bring import brought
from loadcurve.machines.channel import Channel, MachineLost
from loadcurve.machines.far_call import ANYTHING, FarCall
from loadcurve.machines.short_process import OUTPUT_BYTES_MAX, ended_within
from loadcurve.server import elsewhere
from loadcurve.server.catalog import load_catalog
from loadcurve.server.elsewhere import ServerElsewhere, ServerMachine, ServerOnMachine
from loadcurve.server.found import MissingServer, Overrides
from loadcurve.study.container import ContainerTable
from support.answering_agent import AnsweringProcess, Json, few_mutations, greeted, mutations
from support.scripted_agent import known
from support.synthetic_run import probe_record

CATALOG = load_catalog([])
LIMIT_S = 10.0
GREETING_TIMEOUT_S = 0.1
"""Of a first message that may be none; of that which is one :data:`LIMIT_S`."""
ADDRESS = "127.0.0.1"
PREPARED = {
    "facts": {"cpu_model": "a CPU", "kernel": "6.1.0", "memory_bytes": 1 << 30, "operating_system": "Debian"},
    "cpus": [0, 1],
    "cleaned": ["A killed run left nginx behind."],
    "others": ["loadcurve, process 7"],
}
INTERFACE = {
    "name": "eth0",
    "speed_bits_per_s": 10**9,
    "speed_from": "kernel",
    "mtu_bytes": 1500,
    "driver": "virtio_net",
    "offloads": {"gro": True},
}
FAULT = {"code": "version_unknown", "text": "Its version is unknown.", "log_tail": "1.2?"}
FOUND = {"version": "1.2", "binary": "/usr/sbin/nginx", "binary_sha256": "0" * 64, "container": None}
STARTED = {
    "server": 1,
    "port": 8080,
    "url": "postgresql://me:se-cret@127.0.0.1:8080/postgres",
    "settings": {"workers": 2, "tls": False, "mode": "fast"},
    "configuration": {"nginx.conf": "listen {port};"},
    "transport": {
        "scheme": "https",
        "http_versions": ["1.1", "2"],
        "authority": "-----BEGIN CERTIFICATE-----\n",
    },
}
ECHO = {"arrived_ns": 1_000, "sent_ns": 2_000}
PART = {"part": "{}", "steal_s": 0.1, "throttling": None, "suspended_s": 0.0, "link": None}
SHOWN = [1.5, 100, {"timeout": 1}, [1.0, 50, [1.0, 2.0, 3.0]], 0.5, [[60, 40], 0.25]]
SERVERS = {
    "servers.prepare": [{"result": PREPARED}],
    "servers.knock": [{"event": 8080}, {"result": INTERFACE}],
    "servers.log_tail": [{"result": "the end of a log"}],
}
LOADS = {
    "load.clock": [{"error": {"kind": "fault", "text": "there is no echo"}}],
    "load.run": [{"result": PART}],
    "echo": [{"result": ECHO}],
}


Answers = Mapping[str, Sequence[Json]]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "BEAT_S", 0.1)
    monkeypatch.setattr(elsewhere, "measured_way", lambda *_: (None, None))
    monkeypatch.setattr(elsewhere, "require_reached", lambda *_: None)
    monkeypatch.setattr(load_machine, "clock_exchanges", lambda *_: [])


def channel_to(
    answers: Answers, first: Sequence[Json] | None = None, greeting_timeout_s: float = LIMIT_S
) -> Channel:
    process = AnsweringProcess(greeted() if first is None else first, answers)
    return Channel("far", process, greeting_timeout_s=greeting_timeout_s)


def server_machine(answers: Answers) -> ServerMachine:
    return ServerMachine("far", ADDRESS, lambda: channel_to(SERVERS | answers))


def prepare(answers: Answers) -> None:
    machine = server_machine(answers)
    machine.close()
    shown = (machine.recorded_facts, machine.notes, machine.others, machine.link.model_dump())
    json.dumps(shown, ensure_ascii=False).encode()


def find(answers: Answers) -> ServerOnMachine | MissingServer:
    machine = server_machine(answers)
    try:
        said: list[str] = []
        found = machine.find(CATALOG["nginx"], {}, Overrides(), ContainerTable(), said.append)
        "".join(said).encode()
        return found
    finally:
        machine.close()


@contextmanager
def start(name: str, answers: Answers) -> Iterator[ServerElsewhere]:
    with closing(server_machine(answers)) as machine:
        found = ServerOnMachine(CATALOG[name], machine, {}, "1.2", "/usr/sbin/it", None, None)
        with ServerElsewhere(found, None, {}) as server:
            yield server


def started(name: str, answers: Answers) -> None:
    with start(name, answers) as server:
        shown = (server.settings, server.configuration, server.url, server.address, server.log_tail())
        json.dumps(shown, ensure_ascii=False).encode()
        server.limit_use()
        server.raise_if_exited()


def observe(answers: Answers) -> None:
    with start(
        "postgresql", {"servers.start": [{"result": STARTED}], "servers.watch": []} | answers
    ) as server:
        server.call(elsewhere.far_calls.OBSERVED, start_s=0.0, end_s=1.0, answered=1.0)


def greet(message: Any) -> None:
    timeout_s = LIMIT_S if message is GREETING else GREETING_TIMEOUT_S
    channel_to({}, [message], timeout_s).close()


def bootstrap(message: Any) -> None:
    process = AnsweringProcess([message, *greeted()], {})
    timeout_s = LIMIT_S if message is BOOTSTRAPPED else GREETING_TIMEOUT_S
    Channel("far", process, greeting_timeout_s=timeout_s, before_greeting=brought).close()


def send_load(answers: Answers) -> None:
    with channel_to(LOADS | answers) as channel:
        machine = AgentMachine(channel, address=ADDRESS)
        machine.compare_clocks()
        machine.run_part("load", 1, 0.1, lambda _: None).result(LIMIT_S)


def refuse(answers: Answers) -> None:
    with channel_to(answers) as channel, elsewhere.failures_in_words("far"):
        channel.call(known("any"))


def of(name: str, *before: Json, kind: str = "result") -> Callable[[Any], Answers]:
    """The answers in which one value is another one."""
    return lambda value: {name: [*before, {kind: value}]}


GREETING = greeted()[0]
BOOTSTRAPPED = {
    "format": "loadcurve-bootstrap/1",
    "python": [*sys.version_info[:3]],
    "processor": platform.machine(),
    "libc": [*platform.libc_ver()],
    "folder": "/home/bench/.cache/loadcurve/agent",
    "free_bytes": 1 << 40,
    "there": [agent_package(HERE).name],
}
CASES: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "greeting": (greet, lambda value: value, GREETING),
    "bootstrap": (bootstrap, lambda value: value, BOOTSTRAPPED),
    "prepare": (prepare, of("servers.prepare"), PREPARED),
    "knock": (prepare, of("servers.knock", {"event": 8080}), INTERFACE),
    "port": (prepare, lambda value: {"servers.knock": [{"event": value}, {"result": INTERFACE}]}, 8080),
    "found": (find, of("servers.find", {"event": "building"}), {"found": FOUND}),
    "missing": (
        find,
        of("servers.find"),
        {"missing": {"reason": "none", "install": "apt-get install", "fault": FAULT}},
    ),
    "web server": (lambda answers: started("nginx", answers), of("servers.start"), STARTED),
    "database": (lambda answers: started("postgresql", answers), of("servers.start"), STARTED),
    "observed": (
        observe,
        of("servers.observed"),
        {"probe": probe_record("nginx", 10), "link": {"received_bytes_per_s": 1.0, "sent_bytes_per_s": 2.0}},
    ),
    "clock": (send_load, of("echo"), ECHO),
    "echo": (send_load, of("load.clock"), {
        "address": "127.0.0.1:9", "key": "00" * 16}),
    "part": (send_load, of("load.run"), PART),
    "progress": (
        send_load,
        lambda value: {"load.run": [{"event": value}, {"result": PART}]},
        SHOWN,
    ),
    "failure": (
        refuse,
        of("any", kind="error"),
        {"kind": "server_failure", "code": "died", "text": "It died.", "log_tail": "…"},
    ),
    "setting": (
        refuse,
        of("any", kind="error"),
        {"kind": "unusable_setting", "text": "It has none.", "setting": "workers"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_an_answer_with_another_value_in_it_is_taken_or_the_machine_is_lost(case: str):
    takes_or_loses(case, few_mutations)


@pytest.mark.long
@pytest.mark.parametrize("case", list(CASES))
def test_an_answer_with_any_other_value_in_it_is_taken_or_the_machine_is_lost(case: str):
    takes_or_loses(case, mutations)


def takes_or_loses(case: str, changes: Callable[[Any], Iterator[Any]]) -> None:
    use, with_value, value = CASES[case]
    if case not in {"failure", "setting"}:
        use(with_value(value))
    else:
        with pytest.raises(LoadcurveError):
            use(with_value(value))
    reasons: list[str] = []
    for changed in changes(value):
        began_s = time.monotonic()
        try:
            use(with_value(changed))
        except LoadcurveError as error:
            reasons.append(str(error))
        assert time.monotonic() - began_s < LIMIT_S, changed
    assert len(reasons) > 5
    assert max(map(len, reasons)) < 1_000


def test_a_message_is_an_event_an_answer_or_an_error_of_a_call_or_the_machine_is_lost():
    for said in (
        {},
        {"result": 1, "id": "1"},
        {"id": None},
        {"id": 1.5, "result": 1},
        {"error": "it failed"},
    ):
        with channel_to({"any": [said]}) as channel, pytest.raises(MachineLost, match="not that of an agent"):
            channel.call(known("any"))


def test_an_answer_that_never_comes_from_a_machine_that_lives_is_given_up():
    with channel_to({"any": []}) as channel:
        with pytest.raises(MachineLost, match=r"has not answered any within 0\.3 s"):
            channel.call(FarCall("any", ANYTHING, limit_s=0.3))
        assert channel.lost is not None


def test_what_takes_an_event_and_fails_ends_the_wait():
    with channel_to({"any": [{"event": 1}]}) as channel:
        answer = channel.start(known("any"), lambda _: 1 / 0)
        with pytest.raises(MachineLost, match="ZeroDivisionError"):
            answer.result(LIMIT_S)


@pytest.mark.parametrize("text", [b'{"id": 1, "result": NaN}', b'{"id": 1, "result": "\\ud800"}'])
def test_what_no_text_can_hold_is_no_message(text: bytes):
    process = AnsweringProcess(greeted(), {"any": []})
    with Channel("far", process) as channel:
        answer = channel.start(known("any"))
        process.write(text + b"\n")
        with pytest.raises(MachineLost, match="expected a message"):
            answer.result(LIMIT_S)


def test_lines_before_the_greeting_are_bounded():
    process = AnsweringProcess([{"x": "y" * near.FIRST_LINE_BYTES_MAX}], {})
    with pytest.raises(MachineLost, match="a line has"):
        Channel("far", process)


def test_a_database_elsewhere_is_loaded_at_its_machine_alone():
    url = STARTED["url"].replace(ADDRESS, "192.0.2.7")
    answers = {"servers.start": [{"result": STARTED | {"url": url}}]}
    with pytest.raises(LoadcurveError, match=r"named another place: 192\.0\.2\.7:8080") as caught:
        started("postgresql", answers)
    assert "se-cret" not in str(caught.value)


def test_a_machine_that_does_not_tell_its_system_or_its_processor_is_used_all_the_same():
    # As one without os-release(5), and one of Arm, whose /proc/cpuinfo has no name of a model.
    facts = {"kernel": "6.1.0", "memory_bytes": 1 << 30, "operating_system": None, "cpu_model": None}
    with closing(server_machine({"servers.prepare": [{"result": PREPARED | {"facts": facts}}]})) as machine:
        assert machine.recorded_facts == {**facts, "cpus": [0, 1]}


def test_a_machine_that_is_lost_while_it_stops_a_server_fails_no_trial_that_is_over():
    answers = {"servers.start": [{"result": STARTED}], "servers.stop": [{"result": "what is no answer"}]}
    with start("postgresql", answers) as server:
        channel = server._live_channel
        assert channel.lost is None
    assert channel.lost is not None


def test_an_echo_at_another_address_gets_no_datagram(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(load_machine, "clock_exchanges", lambda address, *_: asked.append(address) or [])
    answers = {
        "load.clock": [{"result": {"address": "192.0.2.7:53", "key": "00" * 16}}],
        "echo": [{"result": ECHO}],
    }
    with channel_to(answers) as channel:
        assert AgentMachine(channel, address=ADDRESS).compare_clocks().over == "channel"
    assert asked == []


def test_a_process_that_is_asked_one_thing_is_bounded_in_time_and_output():
    with pytest.raises(TimeoutError):
        ended_within(["sh", "-c", "yes"], b"", 0.3)
    done = ended_within(["sh", "-c", "cat; yes | head -c 3000000; echo no >&2; exit 3"], b"given", LIMIT_S)
    assert (done.returncode, done.stderr, done.stdout[:8]) == (3, b"no\n", b"giveny\ny")
    assert len(done.stdout) <= OUTPUT_BYTES_MAX + 65_536
