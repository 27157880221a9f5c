"""`loadcurve run` over TLS: what is measured is encrypted, and who trusts it."""

import json
from pathlib import Path

import pytest

from loadcurve import _engine
from loadcurve.server.asked import plain_load
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import Overrides
from loadcurve.server.running import find_running_server
from support.limit_server import limit_server
from support.tiny_study import study_text

ENDS = "requests_total = 40"
"""A load that ends when its requests are answered, however busy the machine is."""


def loads_by_server(sandbox):
    """Return what the load measured at the one point of each server."""
    text = (sandbox.work / "run" / "trials.jsonl").read_text()
    records = map(json.loads, text.splitlines())
    return {one["server"]: one["measurements"]["load"] for one in records}


@pytest.mark.needs("nginx")
def test_servers_of_both_schemes_stand_in_one_study(sandbox):
    servers = """
[servers.clear]
use = "limit"
[servers.encrypted]
use = "limit"
tls = true
[servers.nginx]
tls = true
http2 = true
certificate = "rsa"
"""
    sandbox.write("tiny.toml", study_text(servers, load=ENDS, connections="[2]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    loads = loads_by_server(sandbox)
    assert {name: load["load"]["scheme"] for name, load in loads.items()} == {
        "clear": "http",
        "encrypted": "https",
        "nginx": "https",
    }
    assert all(load["requests"]["ok"] >= 40 for load in loads.values())
    assert loads["clear"]["tls"] is None
    for name, key in (("encrypted", "ECDSA 256"), ("nginx", "RSA 2048")):
        tls = loads[name]["tls"]
        assert tls["certificate"]["issuer"] == "CN=Loadcurve authority of one start"
        assert tls["certificate"]["key"] == key
        assert {agreed["version"] for agreed in tls["agreed"]} == {"1.3"}
        assert sum(agreed["count"] for agreed in tls["agreed"]) >= 2
    assert "authority.pem" not in (sandbox.work / "run" / "trials.jsonl").read_text()
    assert sandbox.leftovers() == []


@pytest.fixture
def certificates(sandbox) -> Path:
    """Give a folder with an authority, a certificate of it for the local machine, and its key."""
    texts = _engine.make_certificates("ecdsa", ["localhost", "127.0.0.1"])
    for name, text in zip(("authority", "certificate", "key"), texts, strict=True):
        sandbox.write(f"{name}.pem", text)
    return sandbox.work


def study_of(address: str, tls: str) -> str:
    server = f'[servers.staging]\nuse = "url"\nurl = "https://{address}"\nversion = "1"'
    return study_text(server, content='folder = "site"', load=f"{ENDS}\n{tls}", connections="[1]", trials=1)


def test_a_running_server_is_verified_and_loaded_as_the_study_trusts_it(sandbox, certificates):
    site = sandbox.write("site/1k.txt", "x" * 1024).parent
    with limit_server(site, certificates / "certificate.pem", certificates / "key.pem") as address:
        sandbox.write("tiny.toml", study_of(address, 'tls = { verify = "authority.pem" }'))
        finished = sandbox.run("run", "tiny.toml", "--out", "run")
        assert finished.returncode == 0, finished.stderr
        assert loads_by_server(sandbox)["staging"]["tls"]["handshakes"]["full"] >= 1
        overrides = Overrides(url=f"https://{address}", version="1")
        found = find_running_server(load_catalog()["url"], {}, overrides)
        with pytest.raises(
            ServerFailure, match="the server's certificate was issued by an authority that is not trusted"
        ):
            AttachedServer(found, None).verify(["/1k.txt"], plain_load(found.transport))
