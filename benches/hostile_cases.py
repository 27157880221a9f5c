"""Run folders as somebody might send them to do harm: each is a good one with one change."""

import base64
import hashlib
import json
import os
import re
import socket
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcurve.result.run_files import LOADS_FILE, RUN_COPY_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.version import VERSION

SECRET = "canary-6f1d-only-for-me"  # noqa: S105 - what must not be shown
SCRIPT = "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eabc\x00"
TEBIBYTE = 2**40


@dataclass(frozen=True)
class Place:
    """A good run folder that is to be changed, and a file outside of it that nobody may read or write."""

    run: Path
    private: Path

    def link(self, name: str) -> None:
        """Put a link to the private file in the place of a file."""
        (self.run / name).unlink(missing_ok=True)
        (self.run / name).symlink_to(self.private)

    def records(self) -> list[dict[str, Any]]:
        """Return the records without their checksums."""
        lines = (self.run / TRIALS_FILE).read_text().splitlines()
        return [{key: value for key, value in json.loads(line).items() if key != "sha256"} for line in lines]

    def write_records(self, records: list[dict[str, Any]]) -> None:
        """Write records without checksums, as an older version would."""
        (self.run / TRIALS_FILE).write_text("".join(json.dumps(record) + "\n" for record in records))

    def change_run(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the record of the run, without a checksum and without a copy."""
        record = json.loads((self.run / RUN_FILE).read_text())
        record.pop("sha256", None)
        (self.run / RUN_COPY_FILE).unlink(missing_ok=True)
        change(record)
        (self.run / RUN_FILE).write_text(json.dumps(record))

    def change_load(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the measured load of every record."""
        records = self.records()
        for record in records:
            change(record["measurements"]["load"])
        self.write_records(records)

    def replace_in_records(self, pattern: str, text: str) -> None:
        """Replace the first match in each record, as text that need not be JSON."""
        lines = [json.dumps(record) for record in self.records()]
        (self.run / TRIALS_FILE).write_text(
            "".join(re.sub(pattern, text, line, count=1) + "\n" for line in lines)
        )


Case = Callable[[Place], None]


def linked(name: str) -> Case:
    """Return the case of a link in the place of a file."""
    return lambda place: place.link(name)


def piped(name: str) -> Case:
    """Return the case of a pipe that nobody writes to."""

    def change(place: Place) -> None:
        (place.run / name).unlink(missing_ok=True)
        os.mkfifo(place.run / name)

    return change


def sparse(name: str) -> Case:
    """Return the case of a file of 1 TiB that takes no room."""

    def change(place: Place) -> None:
        with (place.run / name).open("ab") as file:
            file.truncate(TEBIBYTE)

    return change


def text_in(name: str, data: bytes) -> Case:
    """Return the case of a file with this content."""

    def change(place: Place) -> None:
        (place.run / name).write_bytes(data)

    return change


def as_folder(name: str) -> Case:
    """Return the case of a folder in the place of a file."""

    def change(place: Place) -> None:
        (place.run / name).unlink(missing_ok=True)
        (place.run / name).mkdir()

    return change


def with_socket(place: Place) -> None:
    """Put a socket in the place of the records."""
    (place.run / TRIALS_FILE).unlink()
    here = Path.cwd()
    os.chdir(place.run)
    try:
        socket.socket(socket.AF_UNIX).bind(TRIALS_FILE)
    finally:
        os.chdir(here)


def with_device(place: Place) -> None:
    """Lead the study to a device that never ends."""
    (place.run / STUDY_FILE).unlink()
    (place.run / STUDY_FILE).symlink_to("/dev/zero")


def with_linked_pages(place: Place) -> None:
    """Put links at all names of files that reports write."""
    names = ["numbers.json", "report.html", "report.md", "report.json", "report.xlsx", "index.html"]
    for name in [*names, ".report.html.new", "comparison.html", "report-points.csv", "report-curves.csv"]:
        place.link(name)
    (place.run.parent / "index.html").symlink_to(place.private)


def with_hard_linked_page(place: Place) -> None:
    """Make the report the very file that is outside."""
    (place.run / "report.html").unlink(missing_ok=True)
    os.link(place.private, place.run / "report.html")


def with_histogram(text: str) -> Case:
    """Return the case of this text in the place of each histogram of latencies."""
    return lambda place: place.change_load(lambda load: load["histograms"].update(latency=text))


def histogram(length: int, counters: bytes, digits: int = 3, high: int = 2**62) -> str:
    """Return a histogram in the interchange format with this header."""
    plain = struct.pack(">IIIIQQd", 0x1C849313, length, 0, digits, 1, high, 1.0) + counters
    packed = zlib.compress(plain, 9)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()


def with_inflating_histogram(place: Place) -> None:
    """Let a kilobyte stand for 64 MiB of counters."""
    with_histogram(histogram(2**26, bytes(2**26)))(place)


def with_its_own_study(place: Place) -> None:
    """Let an unfinished run name a study in the folder, and a catalogue, whose commands write outside."""
    write = ["sh", "-c", f"echo taken > {place.private}"]
    study = f"""\
title = "Mine"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
duration = "50ms"
[sweep]
connections = [1]
[servers.mine]
[servers.other]
use = "command"
version_command = {json.dumps(write)}
start = {json.dumps([*write, "{port}"])}
"""
    entry = place.run / "catalog" / "mine"
    entry.mkdir(parents=True)
    words = f'binary = ["/bin/sh"]\nstart = {json.dumps(write)}\n[version]\ncommand = {json.dumps(write)}\n'
    (entry / "server.toml").write_text(f'title = "Mine"\ndocumentation = "/"\n{words}pattern = "(.*)"\n')
    for name in (STUDY_FILE, "mine.toml"):
        (place.run / name).write_text(study)
    place.change_run(
        lambda record: record.update(
            study_file=str(place.run / "mine.toml"),
            study_sha256=hashlib.sha256(study.encode()).hexdigest(),
            options=["--catalog", str(place.run / "catalog"), "--trials", "1"],
            loadcurve_version=VERSION,
            search=None,
        )
    )
    place.write_records(place.records()[:1])


def of_several(*names: str, texts: str = "Both", change: Case | None = None) -> Case:
    """Return the case of a folder of several loads of these names, of which "web" and "db" are there.

    ``change`` is done to the run of "web".
    """

    def become(place: Place) -> None:
        inner, other = place.run / "web", place.run / "db"
        for folder in (inner, other):
            folder.mkdir()
        for file in [file for file in place.run.iterdir() if file.is_file()]:
            (other / file.name).write_bytes(file.read_bytes())
            file.rename(inner / file.name)
        loads = [{"name": name, "server": texts, "together": texts} for name in names]
        record = {"format": "loadcurve-loads/1", "title": texts, "question": texts, "loads": loads}
        (place.run / LOADS_FILE).write_text(json.dumps(record))
        if change is not None:
            change(Place(inner, place.private))

    return become


def beside_it(change: Case) -> Case:
    """Return the case of a change of the folder in which a run lies."""
    return lambda place: change(Place(place.run.parent, place.private))


def that_leads_to_the_private_folder(place: Place) -> None:
    """Put a link in the place of a run folder, to where it is, outside of the folder of all."""
    outside = place.private.with_name(f"{place.run.name}-outside")
    place.run.rename(outside)
    place.run.symlink_to(outside)


def with_loads_in_it(place: Place) -> None:
    """Make a load a folder of several loads itself, which are all in it."""
    (place.run / LOADS_FILE).write_bytes((place.run.parent / LOADS_FILE).read_bytes())
    (place.run / RUN_FILE).unlink()
    (place.run / "web").symlink_to(".")


def with_empty_lines(place: Place) -> None:
    """Fill the file of records with nothing."""
    (place.run / TRIALS_FILE).write_bytes(b"\n" * 50_000_000)


def with_broken_text(place: Place) -> None:
    """Put bytes into the records that no text has."""
    file = place.run / TRIALS_FILE
    file.write_bytes(file.read_bytes().replace(b"127", b"\xff\xfe", 1))


def with_forged_numbers(place: Place) -> None:
    """Name sizes and times of the files beside, and claim what was never measured."""
    state = (place.run / TRIALS_FILE).stat()
    source = {"bytes": state.st_size, "modified_ns": state.st_mtime_ns, "changed_ns": 0, "inode": 0}
    numbers = {
        "format": "loadcurve-numbers/2",
        "source": {"loadcurve_version": "0.1.0", "run": source, "trials": source},
        "summary": {"answer": SECRET},
        "analysis": {"findings": [0] * 10**6},
    }
    (place.run / "numbers.json").write_text(json.dumps(numbers))


def with_texts(text: str) -> Case:
    """Return the case of a text wherever one is shown."""

    def change(place: Place) -> None:
        def in_run(record: dict[str, Any]) -> None:
            record["study"] |= {"title": text, "question": text}
            record["study_name"] = record["started_at"] = text
            record["options"] = [text]
            record["host"] |= {"kernel": text, text: text}
            record["caveats"] = [{"code": text, "text": text}]
            for server in record["servers"].values():
                server |= {"title": text, "version": text, "documentation": f"javascript:{text}"}
                server["configuration"] = {text: text}

        place.change_run(in_run)
        (place.run / STUDY_FILE).write_text(text)
        records = place.records()
        for record in records:
            load = record["measurements"]["load"]
            load["verdict"] = {"status": "suspect", "reasons": [{"code": text, "text": text}], "notes": []}
            record["started_at"] = text
        failure = {key: records[-1][key] for key in ("trial", "block", "server", "point", "started_at")}
        failure |= {"kind": "failure", "reason": {"code": text, "text": text}, "log_tail": text}
        place.write_records([*records, failure])

    return change


def with_named(name: str) -> Case:
    """Return the case of a server of this name."""

    def change(place: Place) -> None:
        def in_run(record: dict[str, Any]) -> None:
            record["servers"] = {name: next(iter(record["servers"].values()))}
            for planned in record["order"]:
                planned["server"] = name

        place.change_run(in_run)
        place.write_records([record | {"server": name} for record in place.records()])

    return change


def with_point(value: float) -> Case:
    """Return the case of this value along the sweep, which every record has."""
    return lambda place: place.write_records(
        [record | {"point": dict.fromkeys(record["point"], value)} for record in place.records()]
    )


def in_run(**changes: object) -> Case:
    """Return the case of other values in the record of the run."""
    return lambda place: place.change_run(lambda record: record.update(changes))


def with_huge_plan(place: Place) -> None:
    """Plan a thousand million trials, as far as a plan says so in a few characters."""

    def change(record: dict[str, Any]) -> None:
        record["study"]["trials"] = {"count": 10**9, "restart": "sweep", "until_share": 0.1, "at_most": 10**9}
        record["study"]["trials"]["measure"] = "p99"
        record["order"] = [{"trial": 10**18, "block": 10**18, "server": "limit"}]

    place.change_run(change)


def in_load(**changes: object) -> Case:
    """Return the case of other values in each load."""
    return lambda place: place.change_load(lambda load: load.update(changes))


CASES: dict[str, Case] = {
    **{f"{name} is a link": linked(name) for name in (RUN_FILE, RUN_COPY_FILE, TRIALS_FILE, STUDY_FILE)},
    "progress.json is a link": linked("progress.json"),
    "links at every name of a report": with_linked_pages,
    "report.html is a hard link": with_hard_linked_page,
    "study.toml leads to a device": with_device,
    **{f"{name} is a pipe": piped(name) for name in (RUN_FILE, TRIALS_FILE, STUDY_FILE, "numbers.json")},
    "progress.json is a pipe": piped("progress.json"),
    "trials.jsonl is a socket": with_socket,
    "trials.jsonl is a folder": as_folder(TRIALS_FILE),
    "report.html is a folder": as_folder("report.html"),
    **{f"{name} of 1 TiB": sparse(name) for name in (RUN_FILE, TRIALS_FILE, STUDY_FILE, "numbers.json")},
    "progress.json of 1 TiB": sparse("progress.json"),
    "empty lines without end": with_empty_lines,
    "JSON nested 100,000 deep as run": text_in(RUN_FILE, b"[" * 100_000),
    "JSON nested 100,000 deep as record": text_in(TRIALS_FILE, b'{"kind":' * 100_000 + b"\n"),
    "a million wrong items": lambda place: place.replace_in_records(
        r'"slowest": \[', '"slowest": [' + "0," * 1_000_000
    ),
    "a million objects": in_load(silences=[{}] * 1_000_000),
    "a histogram of 4 GiB in 56 characters": with_histogram(histogram(2**32 - 1, b"")),
    "a histogram that inflates to 64 MiB": with_inflating_histogram,
    "a histogram of the longest range": with_histogram(histogram(1, b"\2", digits=5, high=2**63 - 1)),
    "a histogram of 2^62 requests": with_histogram(histogram(9, b"\xfe" + b"\xff" * 7 + b"\x7f")),
    "a histogram that is none": with_histogram("AAAA" * 1000),
    "a plan of 10^9 trials": with_huge_plan,
    "100,000 servers": lambda place: place.change_run(
        lambda record: record.update(servers={str(n): {} for n in range(100_000)})
    ),
    "numbers of 1e400": lambda place: place.replace_in_records(
        r'"duration_s": [\d.]+', '"duration_s": 1e400'
    ),
    "numbers that are none": lambda place: place.replace_in_records(
        r'"duration_s": [\d.]+', '"duration_s": NaN'
    ),
    "whole numbers of 10,000 digits": lambda place: place.replace_in_records(
        r'"answered": \d+', '"answered": ' + "9" * 10_000
    ),
    "loads of 1e300": with_point(1e300),
    "a seed of 1,000 digits": in_run(seed=10**1000),
    "a negative CPU": in_run(host={"server_cpus": [-1], "load_cpus": ["x", 2**70], "cpus": "many"}),
    "bytes that are no UTF-8": with_broken_text,
    "control characters in every text": with_texts(ESCAPES),
    "HTML in every text": with_texts(SCRIPT),
    "a template in every text": with_texts("{{ 7 * 191 }}{% include '/etc/passwd' %}${7*191}"),
    "a formula in every text": with_texts('=cmd|"/c calc"!A0'),
    "a server named ../../x": with_named("../../../outside/private.txt"),
    "a server with an absolute name": with_named("/etc/passwd"),
    "numbers that are forged": with_forged_numbers,
    "a record that names its own study": with_its_own_study,
    "loads.json is a link": of_several("web", "db", change=beside_it(linked(LOADS_FILE))),
    "loads.json is a pipe": of_several("web", "db", change=beside_it(piped(LOADS_FILE))),
    "loads.json of 1 TiB": of_several("web", "db", change=beside_it(sparse(LOADS_FILE))),
    "the page of several loads is a link": of_several("web", "db", change=beside_it(linked("report.html"))),
    "interference.json is a link": of_several("web", "db", change=beside_it(linked("interference.json"))),
    "links at every name of a load's report": of_several("web", "db", change=with_linked_pages),
    "the records of a load are a link": of_several("web", "db", change=linked(TRIALS_FILE)),
    "a load that is a link": of_several("web", "db", change=that_leads_to_the_private_folder),
    "a load named ../good": of_several("web", "../good"),
    "a load with an absolute name": of_several("web", "/etc"),
    "a load in a folder of another": of_several("web", "web/web"),
    "loads in a load": of_several("web", "db", change=with_loads_in_it),
    "a load twice": of_several("web", "db", "web"),
    "a single load": of_several("web"),
    "no load": of_several(),
    "100,000 loads": of_several(*map(str, range(100_000))),
    "HTML in the texts of loads": of_several("web", "db", texts=SCRIPT),
    "control characters in the texts of loads": of_several("web", "db", texts=ESCAPES),
}
"""By what is wrong with them."""
