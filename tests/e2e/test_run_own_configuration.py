"""`loadcurve run` on servers with one's own lines of configuration, and on descriptions beside the study."""

import json
import shutil

import pytest

from support.sandbox import Sandbox
from support.tiny_study import study_text

DESCRIPTION = 'base = "nginx"\ntitle = "nginx with a page"\n[config]\n"nginx.conf" = "own.conf.j2"\n'
TEMPLATE = """\
{% extends "nginx.conf.j2" %}
{% block pages %}
location = /own { return 200 "of the template"; }
{% endblock %}
"""
SERVERS = """\
[servers.described]
[servers.added]
use = "nginx"
blocks = { pages = 'location = /own { return 200 "of the study {{ port }}"; }' }
"""


@pytest.mark.needs("nginx")
def test_blocks_of_a_study_and_descriptions_beside_it_are_measured_and_repeated_from_the_run(
    sandbox: Sandbox,
):
    sandbox.write("app/servers/described/server.toml", DESCRIPTION)
    sandbox.write("app/servers/described/own.conf.j2", TEMPLATE)
    load = 'duration = "100ms"\nverify = { pattern = "of the (template|study [0-9]+)$" }'
    text = study_text(SERVERS, load=load, connections="[1]", trials=1)
    text = text.replace('["/1k.txt"]', '["/own"]')
    sandbox.write("app/study.toml", f'catalog = "servers"\n{text}')
    finished = sandbox.run("run", "app/study.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    record = json.loads((sandbox.work / "run" / "run.json").read_text())["servers"]
    assert record["described"]["title"] == "nginx with a page"
    assert 'return 200 "of the study {port}"' in record["added"]["configuration"]["nginx.conf"]
    # The run folder has all that it needs.
    shutil.copytree(sandbox.work / "run", sandbox.work / "copy")
    shutil.rmtree(sandbox.work / "app")
    again = sandbox.run("run", "copy/study.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
