"""Folding the probe's samples: what is kept of them, how many there are, and what is left on the disk."""

import os
from pathlib import Path
from typing import Any

import pytest

from loadcurve.probe.figures import Window
from loadcurve.probe.folding import SAMPLES_MAX, SampleStore
from loadcurve.probe.samples import Sample, SampleReader
from loadcurve.probe.window import summed_up
from loadcurve.server import probe_reading
from loadcurve.server.probe_reading import SteadyReader
from support.sandbox import wait_until

INTERVAL_S = 0.1
HOUR_S = 3600.0
NOTHING_READ = dict.fromkeys(set(Sample.model_fields) - {"t_s", "probe_cpu_s"})
HEADER = '{"format":"loadcurve-probe/1","interval_s":0.1}\n'


def sample(place: int, **parts: Any) -> Sample:
    """A sample of a server that uses half a CPU, and whose memory goes up and down within 7 samples."""
    t_s = place * INTERVAL_S
    tree = {"cpu_user_s": t_s / 4, "cpu_system_s": t_s / 4, "memory_bytes": 100 + place % 7}
    tree |= {"processes": 1 + place % 3, "threads": 2}
    return Sample.model_validate(
        {**NOTHING_READ, "t_s": t_s, "probe_cpu_s": t_s / 500, "tree": tree, **parts}
    )


@pytest.fixture(scope="module")
def hour() -> SampleStore:
    """An hour of samples, folded every 30 s, with one moment each at which something rare was seen."""
    store = SampleStore()
    listening = {"listen": 1, "time_wait": 5}
    rare: dict[int, dict[str, Any]] = {
        5000: {"socket_states": {**listening, "time_wait": 900}},
        5001: {"socket_states": listening},
        9001: {"sockets": {"established": 77, "time_wait": 1, "orphaned": None}},
        9002: {"sockets": {"established": 3, "time_wait": 1, "orphaned": None}},
    }
    for start in range(0, round(HOUR_S / INTERVAL_S), 300):
        store.add([sample(place, **rare.get(place, {})) for place in range(start, start + 300)])
        for _ in store.fold():
            pass
    return store


def test_many_samples_are_kept_as_few(hour: SampleStore):
    # 36,000 samples; the newest 30 s, and up to one width of them, are kept as they are.
    assert SAMPLES_MAX / 2 <= len(hour.samples) <= SAMPLES_MAX + 300 + 16
    moments_s = [one.t_s for one in hour.samples]
    assert moments_s == sorted(moments_s)
    assert {one.t_s for one in hour.newest} >= {place * INTERVAL_S for place in range(35_700, 36_000)}


def test_what_a_server_used_is_the_same_from_folded_samples(hour: SampleStore):
    window = Window(100.0, HOUR_S - 100)
    record = summed_up(hour.samples, window, 1000.0, INTERVAL_S, [])
    server = record.server
    assert server is not None
    assert server.cpu_share == pytest.approx(0.5, rel=1e-9)
    # Seven values from 100 to 106; three numbers of processes.
    assert server.memory_mean_bytes == pytest.approx(103, abs=0.01)
    assert server.memory_peak_bytes == 106
    assert server.processes is not None
    assert (server.processes.min, server.processes.max) == (1, 3)
    assert record.sockets is not None
    assert (record.sockets.established_max, record.sockets.by_state_max) == (
        77,
        {"listen": 1, "time_wait": 900},
    )
    assert record.series is not None
    assert set(record.series.cpu_user_share) == {0.25}


def test_no_gauge_is_counted_twice(hour: SampleStore):
    window = Window(-1.0, HOUR_S)
    server = summed_up(hour.samples, window, 1000.0, INTERVAL_S, []).server
    assert server is not None
    values = [100 + place % 7 for place in range(36_000)]
    assert server.memory_mean_bytes == pytest.approx(sum(values) / len(values), rel=1e-12)


def test_that_a_process_ignored_its_children_is_not_lost():
    store = SampleStore()
    for place in range(4 * SAMPLES_MAX):
        switches = {"voluntary": place, "involuntary": 0, "ignores_sigchld": place == 1000}
        store.add([sample(place, context_switches=switches)])
    for _ in range(2):
        assert sum(1 for _ in store.fold()) > 0
    assert any(one.context_switches and one.context_switches.ignores_sigchld for one in store.samples)
    assert summed_up(store.samples, Window(1, 900), 1.0, INTERVAL_S, []).server.cpu_share is None


def test_a_short_load_is_not_folded():
    store = SampleStore()
    samples = [sample(place) for place in range(SAMPLES_MAX)]
    store.add(samples)
    for _ in store.fold():
        pass
    assert store.samples == samples


def test_a_store_can_be_used_between_two_steps_of_folding():
    store = SampleStore()
    store.add([sample(place) for place in range(SAMPLES_MAX + 500)])
    steps = store.fold()
    for _ in range(SAMPLES_MAX + 300):
        next(steps, None)
    store.add([sample(SAMPLES_MAX + 500)])
    moments_s = [one.t_s for one in store.samples]
    assert moments_s == sorted(moments_s)
    store.forget_before(moments_s[-3])
    assert [one.t_s for one in store.samples] == moments_s[-2:]
    assert next(steps, None) is None


def line(place: int) -> bytes:
    return sample(place).model_dump_json().encode() + b"\n"


def test_what_was_read_takes_no_room_on_the_disk_and_the_probe_writes_on(tmp_path: Path):
    file = tmp_path / "samples"
    with file.open("wb", buffering=0) as writer:
        writer.write(HEADER.encode())
        reader = SampleReader(file)
        for start in range(0, 3000, 1000):
            writer.write(b"".join(line(place) for place in range(start, start + 1000)))
            read = [one.t_s for one in reader.new_samples(most=5000)]
            assert read == [place * INTERVAL_S for place in range(start, start + 1000)]
            reader.release()
        found = file.stat()
        assert found.st_size > 1_000_000
        assert found.st_blocks * 512 < 20_000
        reader.close()


def test_samples_are_read_while_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe_reading, "FOLD_INTERVAL_S", 0.01)
    file = tmp_path / "samples"
    file.write_bytes(HEADER.encode() + b"".join(line(place) for place in range(50)))
    reader = SteadyReader(SampleReader(file), os.sched_getaffinity(0))
    reader.start()

    def kept() -> int:
        with reader.kept() as store:
            return len(store.samples)

    try:
        wait_until(lambda: kept() == 50, "all samples are read")
    finally:
        reader.close()
