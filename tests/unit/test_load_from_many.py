"""One load from several machines: one begin, one result, and what is said of each machine."""

import json
import math
import os
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate import many
from loadcurve.generate.engine import ENGINE
from loadcurve.generate.far_calls import FarPart
from loadcurve.generate.generator import LastSecond, LoadInterrupted, Progress
from loadcurve.generate.hosts import loopback_in, named_ports
from loadcurve.generate.load_machine import AgentMachine, Compared, Observe, Share
from loadcurve.generate.load_machines import AGENT_HERE
from loadcurve.generate.many import AT_ONCE, ManyMachines, added_up, of_each, with_fitting_threads
from loadcurve.generate.merging import merged
from loadcurve.loads.http import ClosedLoad, OpenLoad
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.machines.channel import Channel, MachineLost
from loadcurve.machines.clock_offsets import Exchange, offset_of
from loadcurve.runs.plan import DatabasePlans, plan_at_point
from support.answering_agent import mutations
from support.limit_server import limit_server
from support.near_machines import NearMachine

HOUR_NS = 3600 * 10**9


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("content")
    (folder / "a").write_bytes(b"x" * 100)
    (folder / "b").write_bytes(b"x" * 200)
    with limit_server(folder) as served:
        yield served


def open_plan(address, *, connections=16, duration_s=0.3, **options):
    load = OpenLoad(
        model="open",
        threads=1,
        requests=["/a"],
        rate=400.0,
        connections=connections,
        **{"warmup": 0.0, "duration": duration_s, **options},
    )
    return plan_at_point(load, address, {}, (), seed=0)


def closed_plan(address, requests_total):
    load = ClosedLoad(
        model="closed",
        requests=["/a", "/b"],
        connections=16,
        requests_total=requests_total,
        warmup=0.0,
    )
    return plan_at_point(load, address, {}, (0,), seed=0)


def run(plan, *machines):
    return ManyMachines(machines).run(plan, lambda _: None)


def codes(result):
    """What is said of the machines, and not of this machine, which others may disturb."""
    return {reason.code: reason.text for reason in result.verdict.reasons if "machine_" in reason.code}


def counts(result):
    """Every count that a load of a number of requests has, whoever sends them."""
    operations = [(one.operation, one.answered, one.failed) for one in result.operations]
    return result.requests, result.bytes, result.status, operations, result.latency_ms.count


class MachineElsewhere(NearMachine):
    """One that is not here, and reaches the first servers that it is asked for, or none."""

    is_here = False

    def __init__(self, name: str, *, reaches: int):
        super().__init__(name)
        self.reaches, self.asked = reaches, []

    def reach(self, host: str, port: int) -> Future[None]:
        self.asked.append((host, port))
        answer: Future[None] = Future()
        if len(self.asked) <= self.reaches:
            answer.set_result(None)
        else:
            answer.set_exception(NothingMeasured(f"machine {self.name}: no way to {host}"))
        return answer

    def start_part(self, load: str, plan: str, share: Share) -> Future[None]:
        del load, plan
        self.shares.append(share)
        raise MachineLost(self.name, "it is made up")


def test_nothing_is_started_where_a_machine_does_not_reach_the_server():
    one, another = MachineElsewhere("one", reaches=1), MachineElsewhere("another", reaches=0)
    with pytest.raises(NothingMeasured, match=r"machine another: no way to 192\.0\.2\.1"):
        run(open_plan("192.0.2.1:8080"), one, another)
    assert (one.asked, another.asked) == ([("192.0.2.1", 8080)], [("192.0.2.1", 8080)])
    assert (one.shares, another.shares) == ([], [])


def test_a_server_that_was_reached_is_not_asked_again():
    machine = MachineElsewhere("one", reaches=2)
    machines = ManyMachines([machine])
    for port in (8080, 8080, 8081):
        with pytest.raises(MachineLost):
            machines.run(open_plan(f"192.0.2.1:{port}"), lambda _: None)
    assert machine.asked == [("192.0.2.1", 8080), ("192.0.2.1", 8081)]


def test_a_server_that_refuses_connections_is_named_with_its_port_and_the_machine():
    with socket.socket() as unused, Channel("m", AGENT_HERE) as channel:
        unused.bind(("127.0.0.1", 0))
        host, port = unused.getsockname()
        with pytest.raises(
            NothingMeasured, match=rf"machine m: .* to port {port} of {host} failed: Connection refused"
        ):
            AgentMachine(channel).reach(host, port).result()


@pytest.mark.parametrize(
    ("work", "ports"),
    [
        ({"address": "web.example:8080"}, [("web.example", 8080)]),
        ({"address": "[2001:db8::1]:80"}, [("2001:db8::1", 80)]),
        ({"url": "mongodb://me:secret@a:1,b:2/x"}, [("a", 1), ("b", 2)]),
        ({"url": "postgresql://me@db.example/x"}, []),
        ({"url": "postgresql:///x?host=/run/postgresql"}, []),
    ],
)
def test_a_load_goes_to_the_ports_that_its_plan_names(work, ports):
    assert named_ports(work) == ports


def test_each_machine_has_no_more_threads_than_connections_unless_the_load_says_so(address):
    plan = replace(closed_plan(address, 10), threads=16)
    assert with_fitting_threads(plan, 4).threads == 4
    assert with_fitting_threads(plan, 1) is plan
    said = replace(plan, load=plan.load.model_copy(update={"threads": 16}))
    assert with_fitting_threads(said, 4).threads == 16


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_the_counts_of_sixteen_machines_are_those_of_one_generator(address, kind):
    plan = (
        closed_plan(address, 801)
        if kind == "closed"
        else open_plan(address, duration_s=None, requests_total=101)
    )
    machines = [NearMachine(f"m{index}", index * HOUR_NS) for index in range(16)]
    result = run(plan, *machines)
    assert counts(result) == counts(ENGINE.run(plan, lambda _: None))
    parts = result.machines.parts
    assert [part.machine for part in parts] == [f"m{index}" for index in range(16)]
    assert sum(part.requests.answered for part in parts) == result.requests.answered
    assert sum(part.generator.threads for part in parts) == result.generator.threads == 16
    assert sum(part.answered_rps for part in parts) == pytest.approx(result.rate_rps.answered)
    assert sum(part.kernel.retransmits for part in parts) == result.kernel.retransmits
    # They are here, and have the CPUs of the plan.
    assert {tuple(part.cpus) for part in parts} == {plan.cpus}


def test_machines_whose_clocks_are_hours_apart_begin_together(address):
    result = run(open_plan(address), NearMachine("one", HOUR_NS), NearMachine("two", -5 * HOUR_NS))
    one, two = result.machines.parts
    assert (one.clock.offset_s, two.clock.offset_s) == (3600, -5 * 3600)
    assert result.machines.start_spread_ms == pytest.approx(abs(one.start_ms - two.start_ms))
    # What can be known of two clocks at once is off by both errors; two ns are rounding.
    assert result.machines.start_error_ms == pytest.approx(0.04, abs=1e-5)
    assert "machine_clock" not in codes(result)


def test_a_machine_that_begins_late_is_named(address):
    late = NearMachine("late", HOUR_NS, misjudged_ns=20_000_000)
    result = run(open_plan(address), NearMachine("punctual"), late)
    # The moment that it got is 20 ms too late by its clock, as the later comparison shows.
    start_ms = {part.machine: part.start_ms for part in result.machines.parts}
    assert start_ms["late"] >= 19.8 > start_ms["punctual"]
    assert "machine late began" in codes(result)["machine_late"]
    assert result.machines.start_spread_ms >= 10


def test_a_machine_whose_clock_cannot_be_known_is_named(address):
    result = run(open_plan(address), NearMachine("near"), NearMachine("far", error_ns=3_000_000))
    assert codes(result)["machine_clock"].startswith("the clock of machine far is only known to ± 3.00 ms")
    far = NearMachine("far", error_ns=300_000_000)
    assert run(open_plan(address), far).verdict.status == "invalid"


def test_a_machine_that_was_held_back_is_not_excused_by_one_that_was_not(address):
    held_back = NearMachine("held back")
    held_back.steal_s = 0.06
    result = run(open_plan(address, duration_s=0.3), held_back, NearMachine("other"))
    assert result.generator.steal_share == pytest.approx(0.2)
    assert [part.generator.steal_share for part in result.machines.parts] == pytest.approx([0.2, 0])


def test_a_lost_machine_makes_the_result_invalid_by_name_and_loses_nothing_of_the_others(address):
    lost, kept = NearMachine("lost"), NearMachine("kept")

    def observe(progress):
        if progress.answered > 20:
            lost.is_lost.set()

    result = ManyMachines([lost, kept]).run(open_plan(address, duration_s=0.6), observe)
    assert result.verdict.status == "invalid"
    assert "machine lost was lost" in codes(result)["machine_lost"]
    assert "burst into flames" in codes(result)["machine_lost"]
    gone, part = result.machines.parts
    assert (gone.requests, gone.clock, gone.generator) == (None, None, None)
    # Half of 400 requests/s, for 0.6 s; a machine that is busy with others may send some too late.
    assert part.requests.due == result.requests.due == 120
    assert part.requests.answered == result.requests.answered
    assert part.requests.answered + part.requests.never_sent == 120


class HangingMachine(NearMachine):
    """One whose part neither ends when it should, nor when it is asked to."""

    def run_part(self, load: str, at_ns: int, report_s: float, observe: Observe) -> Future[FarPart]:
        del at_ns, report_s, observe
        self.loads[load].stop()
        return Future()


def test_a_part_that_does_not_end_is_waited_for_in_vain_for_a_bounded_time(address, monkeypatch):
    monkeypatch.setattr(many, "ENDING_S", 0.2)
    plan, kept = open_plan(address, timeout=0.1), NearMachine("kept")
    began_s = time.monotonic()
    result = run(plan, HangingMachine("hangs"), kept)
    assert time.monotonic() - began_s < many.LEAD_S + many.longest_s(plan) + 5
    assert "machine hangs: its part of the load did not end" in codes(result)["machine_lost"]
    assert result.requests.answered == result.machines.parts[1].requests.answered > 0


def test_a_part_with_any_other_value_in_it_is_merged_or_refused_in_words(address):
    asked: list[tuple] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "merged", lambda *given: (asked.append(given), merged(*given))[1])
        run(open_plan(address, duration_s=0.1), NearMachine("forged"), NearMachine("honest"))
    [(plan, at_ns, (forged, honest))] = asked
    refused = []
    text = forged.far.part
    forgeries = [*map(json.dumps, [*mutations(json.loads(text))][::40])]
    forgeries += [text.replace(f'"{io}"', '"x"') for io in ("uring", "epoll")]
    for forgery in forgeries:
        far = forged.far.model_copy(update={"part": forgery})
        try:
            merged(plan, at_ns, [replace(forged, far=far), honest])
        except (BadInput, NothingMeasured) as error:
            refused.append(str(error))
    assert len(refused) > len(forgeries) / 2
    assert any("brought what is no part of a load: generator.io: " in one for one in refused)


def test_the_longest_time_of_a_load_is_its_warm_up_its_window_and_a_timeout(address):
    plan = open_plan(address, duration_s=2.0, warmup=0.5, timeout=3.0)
    assert many.longest_s(plan) == 2.0 + 0.5 + 3.0
    assert many.longest_s(closed_plan(address, 10)) == math.inf


def test_where_every_machine_is_lost_nothing_was_measured(address):
    lost = NearMachine("lost")
    with pytest.raises(NothingMeasured, match="machine lost: it burst into flames"):
        ManyMachines([lost]).run(open_plan(address), lambda _: lost.is_lost.set())


def test_a_machine_that_ends_before_the_others_is_named(address):
    hasty = NearMachine("hasty")
    hasty.stops_itself_after = 10
    result = run(open_plan(address), hasty, NearMachine("other"))
    assert result.verdict.status == "invalid"
    assert codes(result)["machine_ended_early"].startswith("machine hasty ended its part")


def test_an_interrupt_keeps_what_all_machines_have_measured(address):
    def interrupted(progress):
        if progress.answered > 20:
            raise KeyboardInterrupt

    machines = NearMachine("one"), NearMachine("two")
    with pytest.raises(LoadInterrupted) as raised:
        ManyMachines(machines).run(open_plan(address, duration_s=60), interrupted)
    result = raised.value.result
    assert result.interrupted
    assert result.requests.answered > 20
    assert "machine_ended_early" not in codes(result)


def test_a_part_that_cannot_start_ends_those_that_did(address):
    plan = open_plan(address)
    machines = [NearMachine("one"), NearMachine("two")]
    machines[1].start_part = lambda *_: machines[0].start_part("x", "{}", machines[0].shares[0])
    with pytest.raises(ValueError, match="expected"):
        run(plan, *machines)
    assert all(load.finish() for load in machines[0].loads.values())


def test_a_machine_here_has_the_cpus_of_the_plan_or_else_those_that_it_was_given(address):
    cpus = sorted(os.sched_getaffinity(0))
    machine = NearMachine("m")
    machine.cpus = cpus[-1:]
    for planned, expected in (((), cpus[-1:]), (tuple(cpus[:1]), cpus[:1])):
        plan = replace(open_plan(address, duration_s=0.1), cpus=planned)
        [part] = run(plan, machine).machines.parts
        assert [*part.cpus] == expected


def test_machines_need_a_connection_for_each_of_their_threads(address):
    machines = [NearMachine(f"m{index}") for index in range(17)]
    with pytest.raises(BadInput, match=r"16 connections among 17 machines .* allow 17 connections or more"):
        run(open_plan(address), *machines)


def test_a_server_on_the_loopback_is_none_for_another_machine(address):
    away = NearMachine("away")
    away.is_here = False
    with pytest.raises(BadInput, match=r"127\.0\.0\.1, which on away is that machine itself"):
        run(open_plan(address), NearMachine("here"), away)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://user:secret@127.0.0.1:5432/db", "127.0.0.1"),
        ("postgresql://user@localhost/db", "localhost"),
        ("postgresql:///db", "a socket of this machine"),
        ("postgresql:///db?host=/run/postgresql", "a socket of this machine"),
        ("postgresql:///db?host=127.0.0.9", "127.0.0.9"),
        ("mongodb://10.0.0.5:27017,[::1]:27017/db", "::1"),
        ("mongodb://%2Ftmp%2Fmongodb-27017.sock/db", "a socket of this machine"),
    ],
)
def test_a_database_on_the_loopback_is_none_for_another_machine(url, host):
    away = NearMachine("away")
    away.is_here = False
    database = DatabasePlans(url=url, settings={}, cpus=[])
    plan = database.run_phase(
        DatabaseLoad.model_validate({"model": "ycsb", "workload": "a", "threads": 2, "records": 9}), 0
    )
    with pytest.raises(BadInput) as raised:
        run(plan, NearMachine("here"), away)
    assert str(raised.value).startswith(f"the load goes to {host}, which on away is that machine itself")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user@10.0.0.5/db",
        "postgresql:///db?host=db.example&hostaddr=10.0.0.5",
        "mongodb://one.example,two.example:27018/db",
        "mongodb://[fd00::1]/db",
    ],
)
def test_a_database_elsewhere_is_the_same_for_all(url):
    assert loopback_in({"url": url}) is None


def test_connections_come_from_addresses_of_the_machine_that_makes_them(address):
    here, away = NearMachine("here"), NearMachine("away")
    away.is_here, away.source_addresses = False, ["192.0.2.5"]
    plans = {}

    def refuse(name):
        def start_part(load, plan, share):
            plans[name] = json.loads(plan)["http"]
            raise NothingMeasured("a plan is all that is wanted")

        return start_part

    away.cpus = [6, 7]
    here.start_part, away.start_part = refuse("here"), refuse("away")
    plan = open_plan("192.0.2.1:80", source_addresses=["192.0.2.7", "192.0.2.8"])
    for machines in [(here, away), (away, here)]:
        with pytest.raises(NothingMeasured):
            run(plan, *machines)
    assert plans["here"]["work"]["source_addresses"] == ["192.0.2.7", "192.0.2.8"]
    assert plans["away"]["work"]["source_addresses"] == ["192.0.2.5"]
    # So do the CPUs of its threads.
    assert (plans["here"]["cpus"], plans["away"]["cpus"]) == ([], [6, 7])


def test_progress_adds_up_but_for_percentiles():
    second = LastSecond(1.0, 10, (1.0, 2.0, 3.0))
    one = Progress(3.0, 30, {"timeout": 2}, second)
    two = Progress(2.5, 20, {"timeout": 1, "reset": 4}, LastSecond(1.0, 5, None))
    assert added_up([one, two]) == Progress(3.0, 50, {"timeout": 3, "reset": 4}, LastSecond(1.0, 15, None))
    assert added_up([one]) == one
    assert added_up([one, Progress(None, 0)]).last_second is None


MOST_DELAY_NS = 50 * 10**6
PATIENCE_S = 20.0
ROUNDED_NS = 2


class ScriptedClock(NearMachine):
    """A machine whose clock is ahead, goes faster, and is asked over two ways of whatever length.

    Each comparison waits until as many are under way as ``together`` has.
    """

    def __init__(self, name, ahead_ns, drift_ppm, ways_ns, together):
        super().__init__(name)
        self.ahead_ns, self.drift_ppm, self.ways_ns, self.together = ahead_ns, drift_ppm, ways_ns, together
        self.began_ns = time.monotonic_ns()
        self.compared = []

    def there_ns(self, here_ns):
        """What the clock there shows at a moment of the one here."""
        return here_ns + self.ahead_ns + (here_ns - self.began_ns) * self.drift_ppm // 10**6

    def compare_clocks(self):
        self.together.wait(PATIENCE_S)
        exchanges = []
        for there_ns, back_ns in self.ways_ns:
            sent_ns = time.monotonic_ns()
            received_ns = sent_ns + there_ns
            at_both = self.there_ns(received_ns)
            exchanges.append(Exchange(sent_ns, at_both, at_both, received_ns + back_ns))
        self.compared.append(offset_of(exchanges))
        return Compared(self.compared[-1], "echo")

    def start_part(self, load, plan, share):
        return done()

    def until_ready(self, load):
        return done()

    def run_part(self, load, at_ns, report_s, observe):
        self.told_ns = at_ns
        lost = Future()
        lost.set_exception(MachineLost(self.name, "it has told all that it is asked"))
        return lost


def done():
    answer = Future()
    answer.set_result(None)
    return answer


WAYS = st.lists(
    st.tuples(st.integers(0, MOST_DELAY_NS), st.integers(0, MOST_DELAY_NS)), min_size=1, max_size=5
)
CLOCKS = st.lists(
    st.tuples(st.integers(-HOUR_NS, HOUR_NS), st.integers(-100, 100), WAYS), min_size=1, max_size=AT_ONCE
)


@settings(max_examples=40, deadline=None)
@given(clocks=CLOCKS)
def test_clocks_are_compared_at_once_and_each_machine_learns_the_begin_by_its_own(clocks):
    together = threading.Barrier(len(clocks))
    machines = [ScriptedClock(f"m{place}", *clock, together) for place, clock in enumerate(clocks)]
    plan = open_plan("192.0.2.1:80")
    with pytest.raises(NothingMeasured, match="it has told all"):
        run(plan, *machines)
    # One moment by the clock here, which each learned by its own as well as is stated.
    [at_ns] = {machine.told_ns - machine.compared[0].offset_ns for machine in machines}
    for machine in machines:
        error_ns = machine.compared[0].later(at_ns).error_ns
        assert abs(machine.told_ns - machine.there_ns(at_ns)) <= error_ns + ROUNDED_NS


def test_no_more_than_a_few_machines_are_asked_at_once_and_answers_keep_their_order():
    under_way, most, lock = 0, 0, threading.Lock()

    def ask(machine):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.001)
        with lock:
            under_way -= 1
        return machine.name

    machines = [NearMachine(f"m{place}") for place in range(3 * AT_ONCE)]
    assert of_each(machines, ask) == [machine.name for machine in machines]
    assert 1 < most <= AT_ONCE
