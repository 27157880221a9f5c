"""`loadcurve run`: which servers a study measures, and what each of them is."""

import json

from loadcurve import __version__
from loadcurve.server.found import NATIVE_FOLDER
from support.tiny_study import study_text

OTHER_VERSION = f"""\
#!/bin/sh
[ "$1" = --version ] && echo loadcurve-server 9.9.9 || exec '{NATIVE_FOLDER}/loadcurve-server' "$@"
"""


def test_two_versions_of_one_server_stand_side_by_side(sandbox):
    sandbox.write("study/bin/server", OTHER_VERSION).chmod(0o755)
    servers = '[servers.limit]\n[servers.limit-new]\nuse = "limit"\nbinary = "bin/server"'
    sandbox.write("study/tiny.toml", study_text(servers, connections="[1]", trials=1))
    finished = sandbox.run("run", "study/tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    record = json.loads((sandbox.work / "run" / "run.json").read_text())
    found = {name: (server["version"], server["binary"]) for name, server in record["servers"].items()}
    assert found == {
        "limit": (__version__, str(NATIVE_FOLDER / "loadcurve-server")),
        "limit-new": ("9.9.9", str(sandbox.work / "study/bin/server")),
    }
    trials = [json.loads(line) for line in (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()]
    answered = {trial["server"]: trial["load"]["requests"]["answered"] for trial in trials}
    assert answered.keys() == {"limit", "limit-new"}
    assert min(answered.values()) > 0
