"""Messages of a given size, which a sweep may vary."""

import json
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import example, given
from hypothesis import strategies as st

from loadcurve.loads.sized import encoded_letters
from loadcurve.runs.plan import plan_at_point
from support.http_load_study import CLOSED, problems_in, study_file
from support.read_study import read_study

WEBSOCKET = 'messages = "websocket"\n'
CALLS = CLOSED.replace('["/a", "/b"]', '["/h.Hello/Say"]') + 'messages = "grpc"\n'


def body_at(folder: Path, load: str, size: int) -> dict[str, object]:
    """What is sent at the point of a sweep over sizes."""
    sweep = "message_size = [1, 2, 129, 130, 131, 200, 65536]"
    study = read_study(study_file(folder, load, sweep.replace("1, ", "", 1 if "grpc" in load else 0)))
    at_point = study.arms["nginx"].load_at({"message_size": size})
    plan = json.loads(plan_at_point(at_point, "127.0.0.1:1", {}, (0,), 0).to_json())
    return plan["http"]["work"]["requests"]["given"][0]["body"]


@pytest.mark.parametrize("size", [1, 200, 65536])
def test_each_point_sends_websocket_messages_of_its_size(size, tmp_path):
    assert body_at(tmp_path, CLOSED + WEBSOCKET, size) == {"text": "x" * size}


@pytest.mark.parametrize("size", [2, 129, 130, 131, 65536])
def test_each_point_makes_calls_with_messages_of_its_size(size, tmp_path):
    [sent] = body_at(tmp_path, CALLS, size).values()
    assert len(sent) == size
    assert bytes(sent) == encoded_letters(size)


# The first sizes whose text has no length of one, or of two bytes.
@example(130)
@example(2 + 2**14 + 1)
@given(st.integers(min_value=2, max_value=40_000))
def test_another_implementation_reads_letters_alone_from_a_message_of_each_size(size):
    # The first field of this type of Google's own is a text, too: the name of a file.
    read = FileDescriptorProto.FromString(encoded_letters(size))
    assert len(encoded_letters(size)) == size
    assert [field.name for field, _ in read.ListFields()] == ["name"]
    # All but the tag and a length of three bytes at most.
    assert read.name == "x" * len(read.name)
    assert size - len(read.name) <= 4


def test_a_size_and_a_message_of_ones_own_are_refused(tmp_path):
    [said] = problems_in(tmp_path, CLOSED + WEBSOCKET + 'body = "hello"\nmessage_size = "1KiB"\n')
    assert "message_size: cannot be combined with a message or body that is given" in said
    entry = CLOSED.replace('["/a", "/b"]', '[{ path = "/a", body = "hello" }]')
    [said] = problems_in(tmp_path, entry + WEBSOCKET + 'message_size = "1KiB"\n')
    assert "message_size: cannot be combined" in said
    [said] = problems_in(tmp_path, CALLS + 'message_size = 9\n[load.grpc]\nmessage = "{}"\n')
    assert "message_size: cannot be combined" in said


def test_a_call_needs_two_bytes_for_the_tag_and_the_length_of_a_field(tmp_path):
    [said] = problems_in(tmp_path, CALLS + "message_size = 1\n")
    assert "message_size: found 1; expected 2 or more bytes of a call of gRPC" in said


def test_a_size_is_of_messages_alone(tmp_path):
    [said] = problems_in(tmp_path, CLOSED + "message_size = 9\n")
    assert 'only used with messages = "grpc" or "websocket"' in said
