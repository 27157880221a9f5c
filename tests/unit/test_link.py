"""The link to another machine: what the kernel's answers say, and what went through an interface.

The answers are written by hand from the layouts in rtnetlink(7), linux/ethtool.h and proc_net(5).
"""

import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.generate.far_load import PlannedWindow
from loadcurve.generate.hosts import numeric_host
from loadcurve.host.link import interface_to, outgoing_interface, route_question, speed_bits_per_s
from loadcurve.host.readings import Readings
from loadcurve.probe import link_watch
from loadcurve.probe.figures import Window
from loadcurve.probe.link_watch import InterfaceSample, LinkWatch, bytes_so_far, pause_s, use_within

TABLE = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     111       2    0    0    0     0          0         0      222       2    0    0    0     0       0          0
  eth0:{received} 7 0 0 0 0 0 0 {sent} 5 0 0 0 0 0 0
"""  # noqa: E501


def route(*attributes: tuple[int, bytes], kind: int = 24) -> bytes:
    """An answer to the question after a route."""
    body = struct.pack("=BBBBBBBBI", 2, 32, 0, 0, 254, 0, 0, 1, 0)
    for number, value in attributes:
        body += struct.pack("=HH", 4 + len(value), number) + value.ljust(-(-len(value) // 4) * 4, b"\0")
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 99) + body


def test_the_interface_of_a_route_is_found_among_its_attributes():
    own, uid = (7, bytes([10, 0, 0, 1])), (25, b"odd")
    assert outgoing_interface(route(own, uid, (4, struct.pack("=I", 7)))) == 7
    assert outgoing_interface(route(own, uid)) is None
    # An error, as where there is no route, has the same head.
    assert outgoing_interface(route((4, struct.pack("=I", 7)), kind=2)) is None


@given(st.binary(max_size=80))
def test_whatever_an_answer_holds_is_read_to_an_end(noise: bytes):
    outgoing_interface(noise)
    outgoing_interface(route()[:28] + noise)


@pytest.mark.parametrize(
    ("address", "family", "bits"), [("10.0.0.5", 2, 32), ("::1", 10, 128)], ids=["IPv4", "IPv6"]
)
def test_a_route_is_asked_for_by_the_whole_address(address: str, family: int, bits: int):
    question = route_question(address)
    size, kind, *_ = struct.unpack_from("=IHHII", question)
    assert (size, kind) == (len(question), 26)
    assert struct.unpack_from("=BB", question, 16) == (family, bits)
    assert len(question) == 16 + 12 + 4 + bits // 8


def test_what_is_no_address_has_no_interface():
    assert interface_to("web.example") is None


def settings(speed_mbit_per_s: int) -> bytes:
    """``struct ethtool_cmd``, which has the speed in two halves."""
    low, high = speed_mbit_per_s & 0xFFFF, speed_mbit_per_s >> 16
    return struct.pack("=IIIHBBBBBBIIHBBIII", 1, 0, 0, low, 1, 0, 0, 0, 0, 0, 0, 0, high, 0, 0, 0, 0, 0)


def test_a_speed_is_reported_in_bits_per_second():
    assert speed_bits_per_s(settings(1000), "e1000e") == 10**9
    assert speed_bits_per_s(settings(200_000), "mlx5_core") == 200 * 10**9


@pytest.mark.parametrize("speed", [0, 0xFFFF, 0xFFFFFFFF])
def test_a_speed_that_the_driver_does_not_know_is_null(speed: int):
    assert speed_bits_per_s(settings(speed), "virtio_net") is None


def test_a_speed_that_is_a_constant_of_the_driver_is_null():
    # The kernel's veth.c says 10,000 Mbit/s and its tun.c 10 Mbit/s, of no link at all.
    assert speed_bits_per_s(settings(10_000), "veth") is None
    assert speed_bits_per_s(settings(10), "tun") is None
    assert speed_bits_per_s(settings(10_000), "vmxnet3") is None
    assert speed_bits_per_s(None, "e1000e") is None


def test_bytes_are_those_of_the_named_interface():
    table = TABLE.format(received=" 12345", sent=67)
    assert bytes_so_far(table, "eth0") == (12345, 67)
    assert bytes_so_far(TABLE.format(received="12345", sent=67), "eth0") == (12345, 67)
    assert bytes_so_far(table, "lo") == (111, 222)
    assert bytes_so_far(table, "eth1") is None
    assert bytes_so_far("", "eth0") is None
    assert bytes_so_far("eth0: odd 1 2 3 4 5 6 7 odd\n", "eth0") is None


def test_the_rate_of_a_window_leaves_out_what_was_before_and_after_it():
    # 100 B/s received until 10 s, then 1,000 B/s; 50 B/s sent.
    moments = [9.0, 9.75, 10.0, 10.5, 11.25, 12.0]
    received = [900, 975, 1000, 1500, 2250, 3000]
    samples = [
        InterfaceSample(moment, got, round(50 * moment))
        for moment, got in zip(moments, received, strict=True)
    ]
    use = use_within(samples, Window(10.2, 11.7))
    assert use.received_bytes_per_s == pytest.approx(1000)
    assert use.sent_bytes_per_s == pytest.approx(50, abs=1)


@pytest.mark.parametrize(
    "window", [Window(8.0, 10.0), Window(10.0, 12.5), Window(10.0, 10.0)], ids=["before", "after", "empty"]
)
def test_a_window_that_was_not_covered_has_no_rate(window: Window):
    assert use_within([InterfaceSample(9.0, 0, 0), InterfaceSample(12.0, 300, 300)], window) is None


def test_an_interface_that_was_made_anew_has_no_rate():
    samples = [InterfaceSample(0.0, 5000, 10), InterfaceSample(1.0, 20, 30)]
    assert use_within(samples, Window(0.0, 1.0)) is None


def written_counters(folder: Path, received: int, sent: int) -> Readings:
    """The counters of a machine, which appear at once."""
    counters = folder / "proc" / "net" / "dev"
    counters.parent.mkdir(parents=True, exist_ok=True)
    counters.with_name("new").write_text(TABLE.format(received=received, sent=sent))
    counters.with_name("new").replace(counters)
    return Readings(folder)


def test_what_goes_through_in_a_window_is_read_as_time_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(link_watch, "INTERVAL_LEAST_S", 0.001)
    monkeypatch.setattr(link_watch, "COST_SHARE", 1.0)
    readings = written_counters(tmp_path, 1000, 0)

    def wait_for(received: int, after_s: float) -> None:
        while (last := watch._samples[-1]).received_bytes != received or last.t_s <= after_s:
            time.sleep(0.001)

    with LinkWatch("eth0", 0.001, readings=readings) as watch:
        start_s = time.monotonic()
        wait_for(1000, start_s)
        written_counters(tmp_path, 4000, 500)
        wait_for(4000, start_s)
        end_s = time.monotonic()
        use = watch.use_within(Window(start_s, end_s))
        assert all(sample.t_s >= start_s for sample in watch._samples)
    assert not watch._thread.is_alive()
    assert use.received_bytes_per_s * (end_s - start_s) == pytest.approx(3000)
    assert use.sent_bytes_per_s * (end_s - start_s) == pytest.approx(500)


def test_readings_that_cost_more_are_rarer():
    assert pause_s(0.1, 30e-6) == 0.1
    # A thousandth of a CPU, whatever one takes.
    assert pause_s(0.1, 400e-6) == pytest.approx(0.4)


def test_a_long_load_keeps_few_readings_the_first_and_the_last_among_them(tmp_path, monkeypatch):
    monkeypatch.setattr(link_watch, "SAMPLES_MAX", 10)
    watch = LinkWatch("eth0", 1.0, readings=written_counters(tmp_path, 1, 1))
    moments = []
    for _ in range(100):
        watch._read()
        moments.append(watch._samples[-1].t_s)
        assert len(watch._samples) <= 10
    assert (watch._samples[0].t_s, watch._samples[-1].t_s) == (moments[0], moments[-1])


@pytest.mark.parametrize("table", [None, "odd"])
def test_a_machine_without_counters_has_no_rate_and_no_error(tmp_path, table):
    if table is not None:
        (tmp_path / "proc" / "net").mkdir(parents=True)
        (tmp_path / "proc" / "net" / "dev").write_text(table)
    with LinkWatch("eth0", 0.1, readings=Readings(tmp_path)) as watch:
        assert watch.use_within(Window(0.0, 1.0)) is None
    with LinkWatch(None, 0.1) as watch:
        assert watch.use_within(Window(0.0, 1.0)) is None


def test_the_window_of_a_part_ends_with_its_time_or_with_the_part():
    now_s = time.monotonic()
    timed = PlannedWindow(warmup_s=1.0, duration_s=5.0)
    assert timed.after(now_s - 10.0) == Window(now_s - 9.0, now_s - 4.0)
    # One that ended before its time, and one that ends with its requests.
    for window in (timed.after(now_s - 3.0), PlannedWindow(1.0, None).after(now_s - 3.0)):
        assert window.start_s == now_s - 2.0
        assert now_s <= window.end_s < now_s + 2.0


@pytest.mark.parametrize(
    ("work", "host"),
    [
        ({"address": "10.0.0.5:8080"}, "10.0.0.5"),
        ({"address": "[fd00::5]:8080"}, "fd00::5"),
        ({"url": "mongodb://db.example,10.0.0.6:27017/x"}, "10.0.0.6"),
        ({"url": "postgresql://user:secret@db.example/x"}, None),
        ({"url": "postgresql:///x"}, None),
    ],
)
def test_the_address_that_a_load_goes_to_is_found_in_its_plan(work: dict[str, str], host: str | None):
    assert numeric_host(work) == host
