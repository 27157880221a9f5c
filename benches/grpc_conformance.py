"""Whether calls of gRPC end as the suite of the Connect project says: `python -m benches.grpc_conformance`.

The suite (connectconformance, built by Go) has its own server and tells a client which calls to make. The
exchange of a load makes them (`crates/quic/examples/grpc_calls`), over HTTP/2 without TLS or over HTTP/3, and
this file translates. Over HTTP/2, calls that answer each message by one are made as those of loads that keep
their calls; over HTTP/3 loads have no such calls, and their cases are left out.

The suite wants a status of gRPC where a load has a class of failure: `_status_of` has the rules, as the
definition of gRPC has them for clients.
"""

import argparse
import base64
import gzip
import json
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from benches.rig import machine

ROOT = Path(__file__).parents[1]
MODULE = "connectrpc.com/conformance"
PACKAGE = "connectrpc.conformance.v1"
PROTOC = ("--from", "grpcio-tools==1.85.1", "python", "-m", "grpc_tools.protoc")
CONFIGURATION = """\
features:
  versions: [{versions}]
  streamTypes: [{streams}]
  protocols: [PROTOCOL_GRPC]
  codecs: [CODEC_PROTO]
  compressions: [COMPRESSION_IDENTITY, COMPRESSION_GZIP]
  supportsH2c: {is_clear}
  supportsTls: {is_protected}
  supportsTrailers: true
  supportsHalfDuplexBidiOverHttp1: false
  supportsConnectGet: false
  supportsMessageReceiveLimit: false
"""
WITHOUT_HTTP2 = """\
excludeCases:
  - version: HTTP_VERSION_2
"""
"""The suite refuses a client of gRPC that has no HTTP/2."""
STREAMS = (
    *("STREAM_TYPE_UNARY", "STREAM_TYPE_CLIENT_STREAM", "STREAM_TYPE_SERVER_STREAM"),
    "STREAM_TYPE_HALF_DUPLEX_BIDI_STREAM",
)
STREAMS_OVER_HTTP2 = (*STREAMS, "STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM")
ONLY_HTTP2 = "version != conformancev1.HTTPVersion_HTTP_VERSION_2 {"
ONLY_HTTP2_AND_HTTP3 = "version == conformancev1.HTTPVersion_HTTP_VERSION_1 {"
PREFIX = struct.Struct(">I")
FRAME = struct.Struct(">BI")
COMPRESSION_GZIP, HTTP_VERSION_3 = 2, 3
OK, CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, PERMISSION_DENIED = 0, 1, 2, 4, 7
RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 8, 12, 13, 14, 16
OF_HTTP = {
    400: INTERNAL, 401: UNAUTHENTICATED, 403: PERMISSION_DENIED, 404: UNIMPLEMENTED,
    429: UNAVAILABLE, 502: UNAVAILABLE, 503: UNAVAILABLE, 504: UNAVAILABLE,
}  # fmt: skip
"""From the definition of gRPC (http-grpc-status-mapping); all others are unknown."""
OF_RESET = {7: UNAVAILABLE, 8: CANCELLED, 11: RESOURCE_EXHAUSTED, 12: PERMISSION_DENIED}
"""From its definition over HTTP/2; all others are internal."""
OF_HTTP3_RESET = {0x107: RESOURCE_EXHAUSTED, 0x10B: UNAVAILABLE, 0x10C: CANCELLED}
"""The same over HTTP/3 (gRPC's proposal G2): too much load, rejected, cancelled; all others are internal."""
OF_MALFORMED = {"messages": UNIMPLEMENTED, "status": UNKNOWN}
"""Another number of messages than the method has, and no status of HTTP; all others are internal."""
OWN_FIELDS = ("grpc-status", "grpc-message", "grpc-status-details-bin")
MOST_SHOWN = 2_000

Message = Any
"""Of a class that is made of descriptors."""


def main() -> int:
    """Run the suite, and print how it ended; return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", default="v1.0.7", help="of the suite")
    parser.add_argument("--http", choices=["2", "3"], default="2", help="by which version calls are made")
    parser.add_argument("--profile", default="ci", help="by which cargo builds what makes the calls")
    parser.add_argument("--client", nargs=2, metavar=("PROGRAM", "DESCRIPTORS"), help="be the suite's client")
    parser.add_argument("suite", nargs="*", help="further arguments of the suite, behind --")
    asked = parser.parse_args()
    if asked.client:
        _Client(*asked.client).answer(sys.stdin.buffer, sys.stdout.buffer)
        return 0
    print(machine())
    with tempfile.TemporaryDirectory(prefix="loadcurve-conformance-") as name:
        place = Path(name)
        module = ["go", "mod", "download", "-json", f"{MODULE}@{asked.version}"]
        download = subprocess.run(module, check=True, capture_output=True, cwd=place)
        source = shutil.copytree(json.loads(download.stdout)["Dir"], place / "suite")
        _build(source, place, is_http3=asked.http == "3")
        descriptors = _descriptors(source / "proto", place)
        (place / "configuration.yaml").write_text(_configuration(asked.http))
        client = [sys.executable, "-m", "benches.grpc_conformance", "--client"]
        command = [
            *(place / "connectconformance", "--mode", "client", "--conf", place / "configuration.yaml"),
            *(*asked.suite, "--", *client, _program(asked.profile), descriptors),
        ]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


def _build(source: Path, place: Path, *, is_http3: bool) -> None:
    """Build the suite, which calls of gRPC over HTTP/3 are kept from by one condition alone."""
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    if is_http3:
        file = source / "internal" / "app" / "connectconformance" / "config.go"
        before = file.read_text()
        if before.count(ONLY_HTTP2) != 1:
            raise SystemExit(f"{file.name} of the suite is another one: {ONLY_HTTP2} is not in it once")
        file.write_text(before.replace(ONLY_HTTP2, ONLY_HTTP2_AND_HTTP3))
    subprocess.run(["go", "build", "-o", place, "./cmd/connectconformance"], check=True, cwd=source)


def _configuration(http: str) -> str:
    is_http3 = http == "3"
    configuration = CONFIGURATION.format(
        versions="HTTP_VERSION_2, HTTP_VERSION_3" if is_http3 else "HTTP_VERSION_2",
        streams=", ".join(STREAMS if is_http3 else STREAMS_OVER_HTTP2),
        is_clear=str(not is_http3).lower(),
        is_protected=str(is_http3).lower(),
    )
    return configuration + WITHOUT_HTTP2 if is_http3 else configuration


def _program(profile: str) -> Path:
    command = ["cargo", "build", "--quiet", "--profile", profile, "--package", "loadcurve-quic"]
    subprocess.run([*command, "--features", "observe", "--example", "grpc_calls"], check=True, cwd=ROOT)
    return ROOT / "target" / profile / "examples" / "grpc_calls"


def _descriptors(protos: Path, place: Path) -> Path:
    found = place / "descriptors"
    files = [str(file.relative_to(protos)) for file in sorted(protos.rglob("*.proto"))]
    protoc = [str(Path(sys.executable).with_name("uv")), "tool", "run", *PROTOC, f"-I{protos}"]
    arguments = [f"--descriptor_set_out={found}", "--include_imports", *files]
    subprocess.run([*protoc, *arguments], check=True)
    return found


class _Client:
    """What the suite takes for the client."""

    def __init__(self, program: str, descriptors: str) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(Path(descriptors).read_bytes()).file:
            pool.Add(file)
        self._pool = pool
        self._calls = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, asked: BinaryIO, answers: BinaryIO) -> None:
        """Make each call that is asked for."""
        request = self._class("ClientCompatRequest")
        while prefix := asked.read(PREFIX.size):
            [length] = PREFIX.unpack(prefix)
            answer = self._made(request.FromString(asked.read(length))).SerializeToString()
            answers.write(PREFIX.pack(len(answer)) + answer)
            answers.flush()
        self._calls.communicate()

    def _class(self, name: str) -> Message:
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))

    def _made(self, request: Message) -> Message:
        answer = self._class("ClientCompatResponse")(test_name=request.test_name)
        method = self._pool.FindMethodByName(f"{request.service}.{request.method}")
        assert self._calls.stdin is not None
        assert self._calls.stdout is not None
        call = self._call(request, method)
        self._calls.stdin.write(json.dumps(call).encode() + b"\n")
        self._calls.stdin.flush()
        found = json.loads(self._calls.stdout.readline())
        if "failure" in found:
            answer.error.message = found["failure"]
            return answer
        self._judge(answer.response, found, method)
        return answer

    def _call(self, request: Message, method: Message) -> dict[str, object]:
        is_packed = request.compression == COMPRESSION_GZIP
        headers = [("grpc-encoding", "gzip")] * is_packed + [("grpc-accept-encoding", "gzip")] * is_packed
        headers += [
            (header.name.lower(), value) for header in request.request_headers for value in header.value
        ]
        cancel = request.cancel.WhichOneof("cancel_timing") if request.HasField("cancel") else None
        call: dict[str, object] = {
            "http3": request.http_version == HTTP_VERSION_3,
            "address": f"{request.host}:{request.port}",
            "path": f"/{request.service}/{request.method}",
            "messages": [
                _framed(message.value, is_packed=is_packed).hex() for message in request.request_messages
            ],
            "answer": self._answer_of(request, method),
            "takes_compressed": is_packed,
        }
        if request.HasField("timeout_ms"):
            call["timeout_ms"] = request.timeout_ms
            headers.append(("grpc-timeout", f"{request.timeout_ms}m"))
        if cancel == "after_num_responses":
            call["cancel_after_messages"] = request.cancel.after_num_responses
        elif request.HasField("cancel"):
            call["cancel_after_ms"] = request.cancel.after_close_send_ms
        return {**call, "headers": headers}

    def _answer_of(self, request: Message, method: Message) -> str:
        if not method.server_streaming:
            return "one"
        if not method.client_streaming or not request.request_messages:
            return "stream"
        first = self._class("BidiStreamRequest").FromString(request.request_messages[0].value)
        definition = first.response_definition
        further = len(definition.response_data) - len(request.request_messages)
        # The last ones of a call that is given up are asked for by nobody.
        has_each = further >= 0 if request.HasField("cancel") else further == 0
        is_each = first.full_duplex and has_each and not definition.HasField("error")
        return "each" if is_each and not definition.HasField("raw_response") else "stream"

    def _judge(self, response: Message, found: Mapping[str, Any], method: Message) -> None:
        head, trailers = _divided(found["heads"])
        status, why = _status_of(found["outcome"])
        for into, fields in ((response.response_headers, head), (response.response_trailers, trailers)):
            for name, values in fields.items():
                if not name.startswith(":") and name not in OWN_FIELDS:
                    into.add(name=name, value=values)
        answer = message_factory.GetMessageClass(method.output_type)
        if status == OK or method.server_streaming:
            try:
                for message in _messages(bytes.fromhex(found["body"])):
                    response.payloads.add().CopyFrom(answer.FromString(message).payload)
            except DecodeError as error:
                # A load counts messages, and does not look into them.
                status, why = INTERNAL, str(error)
                response.payloads.pop()
        if status == OK:
            return
        response.error.code = status
        response.error.message = found["said"] or why
        for packed in trailers.get("grpc-status-details-bin", ()):
            details = status_pb2.Status.FromString(base64.b64decode(packed + "=" * (-len(packed) % 4)))
            for one in details.details:
                response.error.details.add().ParseFromString(one.SerializeToString())


def _framed(message: bytes, *, is_packed: bool) -> bytes:
    body = gzip.compress(message) if is_packed else message
    return FRAME.pack(is_packed, len(body)) + body


def _messages(body: bytes) -> Iterator[bytes]:
    """Yield the whole messages of a body."""
    while len(body) >= FRAME.size:
        is_packed, length = FRAME.unpack_from(body)
        message, body = body[FRAME.size : FRAME.size + length], body[FRAME.size + length :]
        if len(message) == length:
            yield gzip.decompress(message) if is_packed else message


def _divided(
    blocks: Sequence[Sequence[tuple[str, str]]],
) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Return the fields of the head and of the trailers; a single block that has the status is trailers."""
    heads: list[dict[str, list[str]]] = []
    for block in blocks:
        heads.append({})
        for name, value in block:
            heads[-1].setdefault(name, []).append(value)
    if not heads:
        return {}, {}
    if len(heads) == 1:
        return ({}, heads[0]) if "grpc-status" in heads[0] else (heads[0], {})
    return heads[0], heads[-1]


def _status_of(outcome: object) -> tuple[int, str]:
    """Return the status that a client of gRPC gives for what became of a call, and words for it."""
    found = (UNAVAILABLE, str(outcome)[:MOST_SHOWN])
    match outcome:
        case "timeout":
            found = DEADLINE_EXCEEDED, "the client's deadline"
        case "cancelled":
            found = CANCELLED, "the client has cancelled"
        case {"answered": int(status)}:
            found = status, ""
        case {"answered": None, "status": int(status)}:
            found = OF_HTTP.get(status, UNKNOWN), f"status {status} of HTTP"
        case {"reset": int(code)}:
            found = OF_RESET.get(code, INTERNAL), f"reset with {code}"
        case {"reset_http3": int(code)}:
            found = OF_HTTP3_RESET.get(code, INTERNAL), f"reset with {code:#x} of HTTP/3"
        case {"malformed": str(text), "about": str(about)}:
            found = OF_MALFORMED.get(about, INTERNAL), text
    return found


if __name__ == "__main__":
    sys.exit(main())
