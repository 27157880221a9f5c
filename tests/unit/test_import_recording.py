"""An access log becomes a list of requests with their times, which a load replays."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter
from loadcurve.imported.left_out import Reason
from loadcurve.imported.recording import Recorded, write_recording
from loadcurve.loads.requests import open_requests
from support.command import Command


def line(time: str, path: str = "/a", behind: str = "", method: str = "GET") -> str:
    return f'127.0.0.1 - - [{time}] "{method} {path} HTTP/1.1" 200 12{behind}\n'


def second(number: int, path: str = "/a", **more: str) -> str:
    return line(f"24/Nov/2026:02:30:{number:02} +0000", path, **more)


def written(tmp_path: Path, log: str) -> tuple[Recorded, list[str]]:
    (tmp_path / "access.log").write_text(log)
    recorded = write_recording(tmp_path / "access.log", tmp_path / "recording.txt", RequestFilter())
    return recorded, (tmp_path / "recording.txt").read_text().splitlines()


def times_of(tmp_path: Path, log: str) -> list[str]:
    return [line.split()[1] for line in written(tmp_path, log)[1]]


def test_requests_have_their_times_since_the_first_one(tmp_path: Path):
    log = second(20, "/a") + second(22, "/b?x=1") + second(35, "/a")
    recorded, lines = written(tmp_path, log)
    assert lines == ["/a @0 =200", "/b?x=1 @2 =200", "/a @15 =200"]
    assert recorded == Recorded(requests=3, paths=2, left_out=recorded.left_out, length_s=15.0, step_s=1.0)
    assert recorded.left_out.total == 0
    assert open_requests(tmp_path / "recording.txt").recorded_s == 15.0


def test_requests_of_the_same_second_are_spread_evenly_over_it_in_the_order_of_the_log(tmp_path: Path):
    log = "".join(second(at, path) for at, path in [(1, "/a"), (2, "/b"), (2, "/c"), (2, "/d"), (2, "/e")])
    assert written(tmp_path, log)[1] == [
        "/a @0 =200",
        "/b @1 =200",
        "/c @1.25 =200",
        "/d @1.5 =200",
        "/e @1.75 =200",
    ]


def test_a_log_whose_times_go_backwards_is_sorted_by_them(tmp_path: Path):
    """Apache logs the start of a request, and writes the line at its end."""
    log = second(5, "/short") + second(3, "/long") + second(4, "/b") + second(3, "/c")
    assert written(tmp_path, log)[1] == ["/long @0 =200", "/c @0.5 =200", "/b @1 =200", "/short @2 =200"]


def test_times_count_across_zones_and_days(tmp_path: Path):
    log = (
        line("31/Dec/2026:23:59:59 +0100")
        + line("01/Jan/2027:00:00:01 +0100")
        + line("31/Dec/2026:23:00:05 +0000")
    )
    assert times_of(tmp_path, log) == ["@0", "@2", "@6"]


@pytest.mark.parametrize(
    ("forms", "times"),
    [
        (["24/Nov/2026:02:30:20.250 +0000", "24/Nov/2026:02:30:20.375 +0000"], ["@0", "@0.125"]),
        (["2026-11-24T02:30:20+00:00", "2026-11-24T02:30:21Z"], ["@0", "@1"]),
        (["2026-11-24T02:30:20.5+00:00", "2026-11-24T02:30:21.0+00:00"], ["@0", "@0.5"]),
        (["1795487420.125", "1795487421.250"], ["@0", "@1.125"]),
        (["1795487420.999999", "1795487421.000001"], ["@0", "@0.000002"]),
    ],
)
def test_times_are_read_in_the_forms_that_servers_write(tmp_path: Path, forms: list[str], times: list[str]):
    assert times_of(tmp_path, "".join(map(line, forms))) == times


@pytest.mark.parametrize(
    ("members", "times", "step_s"),
    [
        (['"ts":1795777094.5', '"ts":1795777095.962115'], ["@0", "@1.462115"], 1e-6),
        (['"msec":"1795487420.250"', '"msec":"1795487421.500"'], ["@0", "@1.25"], 1e-3),
        (['"msec":1795487420.250', '"msec":1795487421'], ["@0", "@0.75"], 1e-3),
        (
            ['"time_iso8601":"2026-11-24T02:30:20+00:00"', '"time_iso8601":"2026-11-24T02:30:22+00:00"'],
            ["@0", "@2"],
            1.0,
        ),
        (
            # The more exact one of two.
            ['"time_local":"24/Nov/2026:02:30:20 +0000","msec":"1795487420.250"', '"msec":"1795487420.500"'],
            ["@0", "@0.25"],
            1e-3,
        ),
        (
            ['"time":"[24/Nov/2026:02:30:20 +0000]"', '"time":"[24/Nov/2026:02:30:22 +0000]"'],
            ["@0", "@2"],
            1.0,
        ),
    ],
)
def test_times_of_json_are_read_in_the_forms_that_servers_write(
    tmp_path: Path, members: list[str], times: list[str], step_s: float
):
    log = "".join(f'{{"status":200,"request":"GET /a HTTP/1.1",{member}}}\n' for member in members)
    recorded, lines = written(tmp_path, log)
    assert ([line.split()[1] for line in lines], recorded.step_s) == (times, step_s)


def test_json_without_a_time_gives_no_recording(tmp_path: Path):
    with pytest.raises(BadInput, match=r"line 1: .*found the time ''; expected a time in brackets"):
        written(tmp_path, '{"status":200,"request":"GET /a HTTP/1.1"}\n')


def test_milliseconds_behind_the_line_are_more_exact_than_its_second(tmp_path: Path):
    # 2026-11-24 02:30:20 UTC is 1795487420 s after 1970.
    behind = [' "-" "curl/8 1795487999.000" 0.004 1795487420.250', ' "-" "curl/8" 0.004 1795487420.750']
    log = "".join(second(20, behind=text) for text in behind) + second(21, behind=' "-" "x" 1 1795487421.000')
    recorded, lines = written(tmp_path, log)
    assert [line.split()[1] for line in lines] == ["@0", "@0.5", "@0.75"]
    assert recorded.step_s == 0.001


def test_requests_of_the_same_millisecond_are_spread_over_it(tmp_path: Path):
    log = line("1795487420.125") * 2 + line("1795487420.126")
    assert times_of(tmp_path, log) == ["@0", "@0.0005", "@0.001"]


def test_each_request_has_its_own_recorded_status(tmp_path: Path):
    log = second(1) + second(2).replace(" 200 ", " 404 ") + second(3).replace(" 200 ", " 304 ")
    assert written(tmp_path, log)[1] == ["/a @0 =200", "/a @1 =404", "/a @2 =304"]
    assert open_requests(tmp_path / "recording.txt").statuses_of(["/a", "/b"]) == [{200, 304, 404}, set()]


def test_other_methods_are_left_out_and_counted(tmp_path: Path):
    log = second(1, method="POST") + second(2, "/a") + second(4, "/b") + second(5, "http://x/")
    recorded, lines = written(tmp_path, log)
    assert lines == ["/a @0 =200", "/b @2 =200"]
    assert recorded.left_out.total == 2


@pytest.mark.parametrize(
    ("odd", "found"),
    [
        (line("24/Foo/2026:02:30:20 +0000"), "found the time '24/Foo/2026"),
        (line("24/Nov/2026:02:30:61 +0000"), "found the time '24/Nov/2026:02:30:61"),
        (line("99999999999"), "found the time '99999999999'; expected a time in brackets"),
        (line("0001-01-01T00:00:00+23:59"), "found the time '0001-01-01T"),
        (
            line("24/Nov/2026:02:30:20.250 +0000"),
            "expected a time with 0 decimals, as in the earlier requests",
        ),
    ],
)
def test_a_line_whose_time_cannot_be_read_is_left_out(tmp_path: Path, odd: str, found: str):
    recorded, lines = written(tmp_path, second(1) + odd + second(3))
    assert lines == ["/a @0 =200", "/a @2 =200"]
    assert recorded.left_out.counts == {Reason.NO_TIME: 1}
    [_, example] = recorded.left_out.words()
    assert example.startswith("  line 2: ")
    assert found in example


def test_without_milliseconds_behind_it_a_line_is_left_out_where_the_others_have_them(tmp_path: Path):
    log = second(20, behind=" 1795487420.250") + second(21) + second(21, behind=" 1795487421.500")
    recorded, lines = written(tmp_path, log)
    assert [line.split()[1] for line in lines] == ["@0", "@1.25"]
    assert (
        "the same time in milliseconds after the line ($msec), as in the"
        in list(recorded.left_out.words())[1]
    )


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (line("yesterday"), "line 1: .* found the time 'yesterday'; expected a time in brackets"),
        (second(1) + 2 * line("today"), "2 of 3 lines cannot be read, more than 50 %; line 2: "),
        (second(1, method="PUT"), "no GET request"),
        (second(1) + 2 * "Segmentation fault\n", "line 2: 'Segmentation fault'"),
        (
            line("01/Jan/1970:00:00:00 +0000") + second(1),
            "1,795,487,401 s apart; expected at most 999,999,999 s: remove the lines",
        ),
    ],
)
def test_a_log_without_times_that_can_be_replayed_is_refused_with_its_line(
    tmp_path: Path, log: str, found: str
):
    with pytest.raises(BadInput, match=found):
        written(tmp_path, log)
    assert not (tmp_path / "recording.txt").exists()


def test_the_command_writes_the_list_and_prints_its_name(tmp_path: Path):
    command = Command(tmp_path)
    command.write("access.log", second(1) + second(3))
    done = command.run("import", "access.log", "--as", "recording")
    assert (done.returncode, done.stdout) == (0, "recording.txt\n")
    assert "2 requests of 1 path in 2.000 s, logged to 1 s" in done.stderr
    assert 'arrivals = "recorded"' in done.stderr
    again = command.run("import", "access.log", "--as", "recording")
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
