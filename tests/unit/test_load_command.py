"""`loadcurve load`: options and URLs that cannot be used are named before anything is sent."""

import re

import pytest

from loadcurve.cli import load as load_module
from loadcurve.cli import watched_load
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.result.outcomes import Verdict
from loadcurve.server.target import Reached
from support.command import Command
from support.scripted_run import answered


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The command, with a target that is there and takes no load."""
    monkeypatch.setattr(load_module, "reached", lambda *_: Reached("127.0.0.1:9"))
    monkeypatch.setattr(watched_load, "CHOSEN", None)
    return Command(tmp_path)


def test_the_help_lists_the_options_that_most_loads_need_apart_from_those_of_databases(command):
    sections = re.split(r"^(\S.*):\n", command.run("load", "--help").stdout, flags=re.MULTILINE)
    options = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert list(options) == [
        "Arguments",
        "Options",
        "Arrivals and connections",
        "Requests",
        "Messages",
        "TLS",
        "Generator",
        "Databases",
    ]
    where = {
        option: section for section, text in options.items() for option in re.findall(r"--[a-z-]+", text)
    }
    assert (where["--duration"], where["--header"]) == ("Options", "Requests")
    assert (where["--workload"], where["--drop"]) == ("Databases", "Databases")


class Scripted:
    """A generator with one result."""

    def __init__(self, interrupted=False, **changes):
        self.interrupted = interrupted
        self.changes = changes

    def run(self, plan, _):
        if self.interrupted:
            raise LoadInterrupted(answered(plan, **self.changes))
        return answered(plan, **self.changes)


INVALID = Verdict(status="valid", reasons=(), notes=()).with_reason("errors", "all failed", "invalid")


@pytest.mark.parametrize(
    ("generator", "code"),
    [
        (Scripted(), 0),
        (Scripted(verdict=INVALID.model_dump()), 3),
        (Scripted(interrupted=True), 130),
    ],
    ids=["valid", "invalid", "interrupted"],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_result_is_printed_and_decides_the_exit_code(command, monkeypatch, generator, code, form):
    monkeypatch.setattr(watched_load, "CHOSEN", generator)
    options = ["--json"] if form == "json" else []
    finished = command.run("load", "http://127.0.0.1:9/", "-c", 7, *options)
    assert finished.returncode == code
    said = '"connections":7' if form == "json" else "7 connections"
    assert said in finished.stdout


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (
            ["-n", 10, "-d", "1s"],
            "-n/--requests/--operations: cannot be combined with a duration; keep one of the two",
        ),
        (["--cpus", 4096], "CPU 4096 is not available"),
        (["--cpus=-1"], "CPU -1 is not available"),
        (["-R", -5], '--rate: "-5" is not a rate above 0'),
        (["-R", 0], '--rate: "0" is not a rate above 0'),
        (["-R", "inf"], '--rate: "inf" is not a rate above 0'),
        (["-R", "NaN"], '--rate: "NaN" is not a rate above 0'),
        (["-R", "1e12"], "--rate: a rate of 1e12 cannot be scheduled"),
        (["-R", "100-"], '--rate: "100-" is not a rate above 0'),
        (["-R", 2_000_000_000], "--rate: a rate of 2000000000 cannot be scheduled; expected at most 1,000,"),
        (["-R", "100-200:0s"], '--rate: "100-200:0s" lasts 0 s; expected above 0'),
        (
            ["-R", "5:1s, 0:1s", "-n", "5"],
            "--operations: cannot be combined with a rate that ends at 0, at which nothing more falls due",
        ),
        (["--connection-rate", "0"], '--connection-rate: "0" is not a rate above 0'),
        (["-d", 0], '-d/--duration: found "0"; expected a duration above 0'),
        (["-d", "300h"], '-d/--duration: found "300h"; expected a duration above 0, up to 10⁶ s'),
        (["-d", "1x"], '-d/--duration: found "1x"; expected a duration above 0'),
        (
            ["--rate", 5, "--think", "1s"],
            "--think: no option of an open loop, which --rate or --arrivals recorded asks for; leave it out",
        ),
        (
            ["-R", 5, "--connection-rate", 5],
            "-R/--rate: no option of sessions, which --connection-rate asks for",
        ),
        (
            ["--num-connections", 5],
            "--num-connections: no option of a closed loop; --rate asks for an open one",
        ),
        (
            ["--arrivals", "recorded"],
            "URL: found no file; recorded arrivals require a file with a time after each path",
        ),
        (
            ["--arrivals", "recorded", "--urls", "recording.txt", "-R", 5],
            "-R/--rate: cannot be combined with",
        ),
        (
            ["--arrivals", "recorded", "--connection-rate", 5],
            '--arrivals: found "recorded"; expected "constant" or "poisson"',
        ),
        (
            ["--arrivals", "recorded", "--urls", "recording.txt", "--speed", 0],
            "--speed: found 0.0; expected a factor above 0",
        ),
        (["-R", 5, "--speed", 2], '--speed: only used with arrivals = "recorded"'),
        (["--speed", 2], "--speed: no option of a closed loop; --rate asks for an open one"),
        (["--pick", "weighted"], '--pick: missing; pick = "weighted" requires one weight per request'),
        (["-n", 0], "--requests"),
        (["-c", 0], "--connections"),
        (["-c", 2, "-t", 3], "-t/--threads: found 3; expected no more threads than connections"),
        (["--timeout", "0s"], '--timeout: found "0s"; expected a duration above 0'),
        (["-H", "no colon"], "--header: no colon found; expected 'NAME: VALUE'"),
        (["--urls", "nowhere"], "loadcurve: --urls: nowhere: there is no such file"),
        (["--body", "@nowhere"], "--body: nowhere: there is no such file"),
        (["--body", "@."], "--body: .: this is a folder; expected a file with the body of the requests"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_and_nothing_is_sent(options, named, command):
    command.write("recording.txt", "/a @0\n/b @1.5\n")
    finished = command.run("load", "http://127.0.0.1:9/", *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert named in finished.stderr


def test_a_list_of_urls_without_a_request_is_bad_input(command):
    command.write("urls.txt", "# only a comment\n")
    finished = command.run("load", "http://127.0.0.1:9/", "--urls", "urls.txt")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("loadcurve: --urls: urls.txt: ")


def test_a_line_of_a_list_that_cannot_be_used_is_named_and_nothing_is_sent(command):
    command.write("urls.txt", "/a\n" * 1000 + "a\n")
    finished = command.run("load", "http://127.0.0.1:9/", "--urls", "urls.txt")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith('loadcurve: --urls: urls.txt:1001: found "a"; expected a path')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--header-env", "A=LOADCURVE_TEST_LINES"], "--header-env: contains a line break"),
        (["--header-env", "A b=HOME"], '--header-env: found "A b"; expected the name of a header'),
        (["--header-env", "Content-Length=HOME"], '--header-env: found "Content-Length", which is set from'),
        (["--header-env", "A=LOADCURVE_TEST_NONE"], "--header-env: the environment has no variable"),
        (["-H", "B: 1", "--header-env", "A=LOADCURVE_TEST_NONE"], "-H/--header or --header-env: the envi"),
        (["-H", "B\u00e9: 1", "--header-env", "A=HOME"], "-H/--header: found "),
    ],
)
def test_a_header_that_cannot_be_used_is_reported_of_the_option_that_gives_it(
    options, said, command, monkeypatch
):
    monkeypatch.setenv("LOADCURVE_TEST_LINES", "Xq7Vt\nZw9Kp")
    finished = command.run("load", "http://127.0.0.1:9/", *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith(f"loadcurve: {said}")
    assert "Zw9Kp" not in finished.stderr


@pytest.mark.parametrize(
    ("path", "encoded"),
    [("/straße", "/stra%C3%9Fe"), ("/a b?q=ü%20", "/a%20b?q=%C3%BC%20")],
)
def test_a_path_that_has_to_be_percent_encoded_is_shown_encoded(path, encoded, command):
    finished = command.run("load", f"http://127.0.0.1:9{path}")
    assert (finished.returncode, finished.stdout) == (2, "")
    said = f'loadcurve: URL: found "{path}"; expected it percent-encoded, "{encoded}" in UTF-8\n'
    assert finished.stderr == said


BAD_URLS = ["no-url", "ftp://127.0.0.1/", "http:///path", *(f"http://127.0.0.1:{port}/" for port in "0a")]


SCHEMES = "http, https, mongodb, mongodb+srv, postgresql, postgres, ws, wss, grpc, grpcs or unix:"


@pytest.mark.parametrize("url", [*BAD_URLS, "http://127.0.0.1:99999/", "http://[::1/"])
def test_a_bad_url_is_bad_input_and_what_was_expected_is_said(url, command):
    finished = command.run("load", url)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith(f"loadcurve: {url}: ")
    web = "http://127.0.0.1:8080/path"
    for_web = f"; expected a URL such as {web} or https://127.0.0.1:8443/path\n"
    meant = web if "://" in url else f"http://{url}"
    for_any = f"; expected a URL such as {meant}, with one of the schemes {SCHEMES}\n"
    assert finished.stderr.endswith((for_web, for_any))
