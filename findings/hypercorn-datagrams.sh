#!/usr/bin/env bash
# Hypercorn 0.18.0 over HTTP/3: of datagrams that arrive while it is busy it keeps ten, of all connections together, and throws the
# others away ("is UDP"). No counter of the kernel shows that. Under a load of 4 connections x 8 requests 54 % of the datagrams
# went so, and up to 32 of 2,000 requests had no answer within seconds, as QUIC doubles its wait after each loss; with a
# queue without a bound in its place, every datagram was read and every request answered. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet 'hypercorn[h3]==0.18.0'
"$folder/bin/python" - << 'END' | tee "$folder/seen"
import asyncio

from hypercorn.asyncio.udp_server import UDPServer


async def burst():
    server = UDPServer(None, asyncio.get_running_loop(), None, None, None)
    for number in range(100):
        server.datagram_received(b"datagram", ("127.0.0.1", 50_000 + number))
    print(f"100 datagrams arrived, {server.protocol_queue.qsize()} were kept")


asyncio.run(burst())
END
diff - "$folder/seen" << 'END'
100 datagrams arrived, 10 were kept
END
