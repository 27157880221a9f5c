"""`loadcurve servers`, and what every start of the command costs."""

import re
import subprocess
import sys

import pytest

from loadcurve import __version__
from support.tiny_study import write_entry, write_missing_server

HEAVY = {"altair", "numpy", "polars", "scipy", "vl_convert"}


def rows_of(table):
    lines = table.splitlines()[1:]
    return {line.split()[0]: line for line in lines if line[:1].strip()}


def test_the_catalogue_lists_what_is_installed_and_how_to_install_the_rest(sandbox):
    write_missing_server(sandbox.work / "catalog", "gone")
    finished = sandbox.run("servers", "--catalog", "catalog")
    assert (finished.returncode, finished.stderr) == (0, "")
    *tables, install = finished.stdout.split("\n\n")
    web_servers, databases = map(rows_of, tables)
    rows = {**databases, **web_servers}
    assert {"postgresql", "mongodb", "ferretdb", "url"} <= databases.keys()
    assert web_servers.keys() & databases.keys() == {"url"}, "what runs already may be either"
    assert {"apache-event", "limit", "nginx", "gone"} <= rows.keys()
    assert __version__ in rows["limit"]
    assert "missing" in rows["gone"]
    assert "\n  gone\n    make -C gone install\n" in install
    assert set(re.findall(r"^  (\S+)$", install, re.MULTILINE)) == {
        name for name, row in rows.items() if " missing" in row or " not built" in row
    }
    for table in (web_servers, databases):
        missing = [" missing" in row or " not built" in row for row in table.values()]
        assert missing == sorted(missing), "what is missing comes last"
    # What another program reads has each server on one line.
    assert re.search(r"^command +any +set in the study with start = …$", tables[0], re.MULTILINE)
    assert not re.search(r"^ {5}", "\n".join(tables), re.MULTILINE)


def test_one_server_is_shown_with_its_settings_as_a_study_writes_them(sandbox):
    finished = sandbox.run("servers", "nginx")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "https://nginx.org/en/docs/" in finished.stdout
    settings = dict(line.split()[:2] for line in finished.stdout.splitlines() if len(line.split()) > 2)
    assert (settings["workers"], settings["keepalive"]) == ('"auto"', "true")
    assert max(map(len, finished.stdout.splitlines())) <= 80


def test_a_check_starts_verifies_and_stops_a_server(sandbox):
    finished = sandbox.run("servers", "check", "limit")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert f"limit {__version__} at " in finished.stdout
    steps = [line.split()[0] for line in finished.stdout.splitlines()[1:]]
    assert steps == ["started", "ready", "verified", "verified", "stopped"]
    assert "/64k.txt, 65,536 bytes, SHA-256 " in finished.stdout
    assert "by SIGTERM after " in finished.stdout
    assert "no process left, port free, folder gone" in finished.stdout
    assert max(map(len, finished.stdout.splitlines())) <= 80


APPLICATION = """
import http.server, sys

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), Page).serve_forever()
"""


def test_a_check_of_an_application_asks_for_what_it_answers_and_for_no_file(sandbox):
    (sandbox.work / "application.py").write_text(APPLICATION)
    write_entry(
        sandbox.work / "catalog/application",
        binary=sys.executable,
        start=f'"{{binary}}", "{sandbox.work}/application.py", "{{address}}", "{{port}}"',
        more='[ready]\npath = "/health"',
    )
    finished = sandbox.run("servers", "check", "application", "--catalog", "catalog")
    assert (finished.returncode, finished.stderr) == (0, "")
    steps = [line.split(maxsplit=1) for line in finished.stdout.splitlines()[1:]]
    assert [step for step, _ in steps] == ["started", "ready", "verified", "stopped"]
    assert dict(steps)["verified"].rstrip() == "/health, answered with status 200"


def test_a_check_says_that_a_server_had_to_be_stopped_by_force(sandbox):
    script = "trap : TERM; {binary} limit --listen {address}:{port} --root {content} & while :; do wait; done"
    write_entry(
        sandbox.work / "catalog/stubborn",
        binary="{native}/loadcurve-server",
        start=f'"/bin/sh", "-c", \'{script}\'',
        more='[stop]\ntimeout = "300ms"',
    )
    finished = sandbox.run("servers", "check", "stubborn", "--catalog", "catalog")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "by force, 0.3 s after SIGTERM" in finished.stdout


def test_a_check_of_a_missing_server_says_how_to_install_it(sandbox):
    write_missing_server(sandbox.work / "catalog", "gone")
    finished = sandbox.run("servers", "check", "gone", "--catalog", "catalog")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "Install it with: make -C gone install" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ngnix"], 'did you mean "nginx"?'),
        (["check", "ngnix"], 'did you mean "nginx"?'),
        (["check"], "expected NAME, check NAME, install NAME…"),
        (["nginx", "limit"], "expected NAME, check NAME, install NAME…"),
    ],
)
def test_a_name_that_is_unknown_or_missing_is_bad_input(arguments, said, sandbox):
    finished = sandbox.run("servers", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr


QUICK = {
    "--version": f"loadcurve {__version__}",
    "--help": "Usage: loadcurve",
    "servers --help": "check",
    "servers": "limit",
    "servers limit": "limit",
    "report .": "is not a run folder",
}
"""Commands whose answer needs no results, with words of it."""
IMPORTS = """
import contextlib, sys
from loadcurve.cli.main import main
for arguments in sys.argv[1:]:
    sys.argv = ["loadcurve", *arguments.split()]
    with contextlib.suppress(SystemExit):
        main()
    print("imported:", *{name.partition(".")[0] for name in sys.modules}, flush=True)
"""
"""One process gives all answers, so what is imported by any of them shows from then on."""


def test_a_quick_answer_imports_nothing_that_only_results_need(sandbox):
    finished = subprocess.run(
        [sys.executable, "-c", IMPORTS, *QUICK],
        cwd=sandbox.work,
        env=sandbox.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    answers = re.findall(r"(.*?)^imported: (.*?)$", finished.stdout, re.MULTILINE | re.DOTALL)
    for (arguments, said), (answer, imported) in zip(QUICK.items(), answers, strict=True):
        assert said in answer, arguments
        assert "typer" in imported.split()
        assert HEAVY & {*imported.split()} == set(), arguments
