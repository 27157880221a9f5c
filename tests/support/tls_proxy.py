"""A proxy that speaks TLS with clients and plainly with a server, so that any can be reached by TLS."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.certificates import Issued


@contextmanager
def tls_proxy(port: int, issued: Issued, clients_authority: Path | None = None) -> Iterator[int]:
    """Pass bytes on to a port of this machine; yields the port of the proxy.

    With an authority, clients must show a certificate that it has issued.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    if clients_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients_authority)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pass_on(reader, to_server), _pass_on(from_server, writer))

    # The loop runs in a thread alone, as another test's may be running in this one.
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listening = asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        server = asyncio.run_coroutine_threadsafe(listening, loop).result()
        yield server.sockets[0].getsockname()[1]
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one of both sides has closed, and then close the other."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
