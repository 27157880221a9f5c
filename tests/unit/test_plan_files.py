"""Files that a load reads, on other machines than this one."""

import base64
import hashlib
import json
import time
from pathlib import Path

import pytest

from loadcurve._engine import merge_parts
from loadcurve.errors import BadInput
from loadcurve.generate.load_machine import AgentMachine, Share
from loadcurve.generate.load_machines import AGENT_HERE
from loadcurve.generate.many import require_shareable
from loadcurve.generate.plan_files import files_read, with_files_at
from loadcurve.loads.http import ClosedLoad
from loadcurve.machines.channel import Channel
from loadcurve.machines.files import PART_BYTES, FilesInMemory, parts_of
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.transport import Transport
from support.limit_server import limit_server

LEAD_NS = 200_000_000


def plan(address="192.0.2.1:80", **options):
    load = ClosedLoad(
        model="closed",
        threads=1,
        connections=1,
        requests_total=10,
        warmup=0.0,
        **{"requests": ["/a"], **options},
    )
    return plan_at_point(load, address, {}, (), seed=0)


def test_a_plan_names_the_files_that_its_load_reads_and_can_have_them_elsewhere(tmp_path: Path):
    body = tmp_path / "body"
    body.write_text("x")
    posted = plan(method="POST", body=f"@{body}").to_json()
    assert files_read(posted) == [str(body)]
    moved = with_files_at(posted, {str(body): "/there/1"})
    assert files_read(moved) == ["/there/1"]
    assert json.loads(moved.replace("/there/1", str(body))) == json.loads(posted)
    # A text of a request is no file, whatever it looks like.
    assert files_read(plan(method="POST", body=str(body)).to_json()) == []


@pytest.mark.parametrize("size", [0, 1, PART_BYTES, PART_BYTES + 1])
def test_a_file_arrives_as_it_was_sent_and_has_a_place_for_this_process_alone(tmp_path: Path, size: int):
    content = bytes(index % 251 for index in range(size))
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / "file").write_bytes(content)
    there = FilesInMemory()
    for part in parts_of(tmp_path / "file"):
        there.put(digest, part)
    there.seal(digest)
    assert Path(there.path(digest)).read_bytes() == content


def test_a_file_that_arrives_changed_is_refused():
    there = FilesInMemory()
    digest = hashlib.sha256(b"sent").hexdigest()
    there.put(digest, base64.b64encode(b"came").decode())
    with pytest.raises(BadInput, match=f"expected {digest}"):
        there.seal(digest)
    with pytest.raises(KeyError):
        there.path(digest)


def test_a_machine_loads_by_its_own_copy_of_a_list(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 100)
    listed, aside = tmp_path / "list", tmp_path / "aside"
    listed.write_text("/a\n/b\n" * 100)
    with limit_server(tmp_path) as address, Channel("m", AGENT_HERE) as channel:
        asked = plan(address, requests=str(listed))
        machine = AgentMachine(channel)
        machine.receive(files_read(asked.to_json()))
        listed.rename(aside)
        machine.start_part("load", asked.to_json(), Share(0, 1)).result()
        machine.until_ready("load").result()
        begin_ns = time.monotonic_ns() + LEAD_NS
        brought = machine.run_part("load", begin_ns, 1.0, lambda _: None).result()
        aside.rename(listed)
    result = json.loads(merge_parts(asked.to_json(), [brought.part], begin_ns)[0])
    assert (result["requests"]["answered"], result["bytes"]["body"]) == (10, 1000)


def test_a_file_that_cannot_be_read_here_is_named(tmp_path: Path):
    with Channel("m", AGENT_HERE) as channel, pytest.raises(BadInput, match="gone: No such file"):
        AgentMachine(channel).receive([str(tmp_path / "gone")])


def test_a_file_that_the_load_writes_is_refused_for_other_machines():
    load = plan(tls={"key_log": "/here/secrets"}).load
    secret = plan_at_point(load, "192.0.2.1:443", {}, (), seed=0, transport=Transport("https"))
    with Channel("m", AGENT_HERE) as channel, pytest.raises(BadInput, match=r"/here/secrets.*remove key_log"):
        require_shareable(secret, [AgentMachine(channel)])
