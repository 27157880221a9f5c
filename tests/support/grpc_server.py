"""A server of grpcio for tests of loads, in a process of its own.

`python grpc_server.py [CERTIFICATE KEY] [--no-reflection]` prints its port, serves until its input ends, and
prints how many calls and messages of each method it has answered.
"""

import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection

TEXT = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
METHODS = {"Say": (False, False), "Listen": (False, True), "Tell": (True, False), "Chat": (True, True)}
"""Which side streams its messages, the client's first."""
LISTENED = 3
"""How many messages answer a call of Listen."""


def add_files() -> None:
    """Put the service into the pool: its messages are in a file that it imports by way of another one."""
    pool = descriptor_pool.Default()
    messages = descriptor_pb2.FileDescriptorProto(name="messages.proto", package="h", syntax="proto3")
    who = messages.message_type.add(name="Who")
    who.field.add(name="name", number=1, type=TEXT, label=1)
    between = descriptor_pb2.FileDescriptorProto(
        name="between.proto", package="h", dependency=["messages.proto"], public_dependency=[0]
    )
    service = descriptor_pb2.FileDescriptorProto(
        name="hello.proto", package="h", dependency=["between.proto"], syntax="proto3"
    )
    hello = service.service.add(name="Hello")
    for name, (client, server) in METHODS.items():
        hello.method.add(
            name=name,
            input_type=".h.Who",
            output_type=".h.Who",
            client_streaming=client,
            server_streaming=server,
        )
    for file in (messages, between, service):
        pool.Add(file)


class Hello(grpc.GenericRpcHandler):
    """Answers with what was asked."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self.lock = threading.Lock()
        self.counts = Counter()
        who = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName("h.Who"))
        texts = {"request_deserializer": who.FromString, "response_serializer": who.SerializeToString}
        self.handlers = {
            "/h.Hello/Say": grpc.unary_unary_rpc_method_handler(self.say, **texts),
            "/h.Hello/Listen": grpc.unary_stream_rpc_method_handler(self.listen, **texts),
            "/h.Hello/Tell": grpc.stream_unary_rpc_method_handler(self.tell, **texts),
            "/h.Hello/Chat": grpc.stream_stream_rpc_method_handler(self.chat, **texts),
        }

    def service(self, handler_call_details):
        """Return the handler of a method."""
        return self.handlers.get(handler_call_details.method)

    def count(self, name: str, messages: int = 1) -> None:
        """Count a call, or its messages."""
        with self.lock:
            self.counts[name] += messages

    def say(self, who, _context):
        """Answer a message with it."""
        self.count(f"Say {who.name}")
        return who

    def listen(self, who, _context):
        """Answer a message with several."""
        self.count("Listen")
        for _ in range(LISTENED):
            yield who

    def tell(self, several, _context):
        """Answer several messages with the last one."""
        self.count("Tell")
        *others, last = several
        self.count("Tell messages", len(others) + 1)
        return last

    def chat(self, several, _context):
        """Answer each message with it."""
        for who in several:
            self.count("Chat messages")
            yield who


def main() -> None:
    """Serve until the input ends."""
    options = [one for one in sys.argv[1:] if one.startswith("--")]
    files = [Path(one) for one in sys.argv[1:] if one not in options]
    add_files()
    hello = Hello()
    server = grpc.server(ThreadPoolExecutor(max_workers=32), handlers=[hello])
    if "--no-reflection" not in options:
        reflection.enable_server_reflection(["h.Hello", reflection.SERVICE_NAME], server)
    if files:
        certificate, key = (file.read_bytes() for file in files)
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(None).wait()
    print(json.dumps(hello.counts), flush=True)


if __name__ == "__main__":
    main()
