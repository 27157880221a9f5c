#!/usr/bin/env bash
# Hypercorn 0.18.0: two WebSockets share a connection of HTTP/2 (RFC 8441). The application closes the first one, and the client
# answers its close frame, as RFC 6455 section 5.5.1 requires. Hypercorn has forgotten the stream by then: a KeyError ends the whole
# connection, and the second WebSocket, on which nothing was wrong, is gone. Where the client leaves the answer out, the second
# one goes on. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet hypercorn==0.18.0 h2==4.4.1 wsproto==1.3.2
cat > "$folder/echo.py" << 'END'
async def app(scope, receive, send):
    if scope["type"] != "websocket":
        return
    await send({"type": "websocket.accept"})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        if message["type"] == "websocket.receive" and message.get("text") == "please close":
            await send({"type": "websocket.close", "code": 1000})
            return
        if message["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
END
cat > "$folder/client.py" << 'END'
import socket
import subprocess
import sys
import time

import h2.config
import h2.connection
import h2.events
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, TextMessage

folder = sys.argv[1]


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.http.initiate_connection()
        self.websockets, self.said, self.is_dropped = {}, {}, False
        self.flush()
        self.read_until(lambda: self.http.remote_settings.enable_connect_protocol)

    def flush(self):
        self.socket.sendall(self.http.data_to_send())

    def read_until(self, is_enough):
        while not is_enough() and not self.is_dropped:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b""
            self.is_dropped = not data
            for event in self.http.receive_data(data) if data else ():
                if isinstance(event, h2.events.ResponseReceived):
                    self.said[event.stream_id].append(dict(event.headers)[b":status"].decode())
                if isinstance(event, h2.events.DataReceived):
                    websocket = self.websockets[event.stream_id]
                    websocket.receive_data(event.data)
                    self.said[event.stream_id] += list(websocket.events())
                if isinstance(event, h2.events.ConnectionTerminated):
                    self.is_dropped = True
            if not self.is_dropped:
                self.flush()

    def open(self):
        stream = self.http.get_next_available_stream_id()
        self.websockets[stream], self.said[stream] = Connection(ConnectionType.CLIENT), []
        self.http.send_headers(stream, [
            (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"),
            (":authority", "localhost"), ("sec-websocket-version", "13"),
        ])
        self.flush()
        self.read_until(lambda: self.said[stream])
        return stream

    def send(self, stream, event, is_last=False):
        self.http.send_data(stream, self.websockets[stream].send(event), end_stream=is_last)
        self.flush()


def tried(port, answers):
    client = Client(port)
    first, second = client.open(), client.open()
    client.send(first, TextMessage("please close"))
    is_close = lambda: any(isinstance(one, CloseConnection) for one in client.said[first])
    client.read_until(is_close)
    if answers:
        client.send(first, CloseConnection(1000), is_last=True)
        time.sleep(0.5)
    try:
        client.send(second, TextMessage("hello"))
    except ConnectionError:
        client.is_dropped = True
    client.read_until(lambda: any(isinstance(one, TextMessage) for one in client.said[second]))
    said = "answers the close" if answers else "does not answer the close"
    print(f"the client {said}: {'the connection is gone' if client.is_dropped else 'the other WebSocket echoes'}")


with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
log = open(f"{folder}/log", "w")
command = [f"{folder}/bin/hypercorn", "--bind", f"127.0.0.1:{port}", "echo:app"]
with subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server:
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionError:
                time.sleep(0.1)
        tried(port, answers=False)
        tried(port, answers=True)
    finally:
        server.terminate()
print("its log:", open(f"{folder}/log").read().count("KeyError"), "KeyError")
END
"$folder/bin/python" "$folder/client.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" << 'END'
the client does not answer the close: the other WebSocket echoes
the client answers the close: the connection is gone
its log: 1 KeyError
END
