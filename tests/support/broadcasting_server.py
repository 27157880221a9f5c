"""A WebSocket server that sends what one client says to all others, one after the other.

``broadcasting_server.py PORT [PLACE WAIT_S]``: before the client of this place, by when it came, it waits so
long, as servers do which wait until each client has taken its message, where one of them reads slowly.
"""

import asyncio
import base64
import hashlib
import sys

KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""
KEY_FIELD = b"sec-websocket-key:"
CLOSE = 8


def accepted(key: bytes) -> bytes:
    return base64.b64encode(hashlib.sha1(key + KEY_SUFFIX, usedforsecurity=False).digest())


def framed(first: int, data: bytes) -> bytes:
    """Return a frame without a mask, of at most 125 bytes."""
    return bytes((first, len(data))) + data


async def serve(port: int, place: int, wait_s: float) -> None:
    clients: list[asyncio.StreamWriter] = []
    # Its messages come one after the other, as if one thread of execution sent them.
    turn = asyncio.Lock()

    async def publish(frame: bytes, publisher: asyncio.StreamWriter) -> None:
        async with turn:
            for index, client in enumerate([one for one in clients if one is not publisher]):
                if index == place:
                    await asyncio.sleep(wait_s)
                client.write(frame)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        keys = [line[18:].strip() for line in head.split(b"\r\n") if line.lower().startswith(KEY_FIELD)]
        if not keys:
            writer.write(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()
            return
        switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        writer.write(switching + b"Sec-WebSocket-Accept: " + accepted(keys[0]) + b"\r\n\r\n")
        clients.append(writer)
        try:
            while True:
                first, length = await reader.readexactly(2)
                mask = await reader.readexactly(4)
                data = await reader.readexactly(length & 0x7F)
                data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
                if first & 0xF == CLOSE:
                    writer.write(framed(first, data))
                    break
                await publish(framed(first, data), writer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            clients.remove(writer)
            writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    _, listened, *planted = sys.argv
    at, held_s = planted or ("-1", "0")
    asyncio.run(serve(int(listened), int(at), float(held_s)))
