"""The page of a run, served from this process."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadcurve.watch.address import ANY_LOOPBACK_PORT, Address, Listener
from loadcurve.watch.server import WatchServer


@contextmanager
def page_of(folder: Path, address: str = ANY_LOOPBACK_PORT) -> Iterator[tuple[str, WatchServer]]:
    """Serve the page of a run folder as long as the block lasts; yields its URL and the server."""
    listener = Listener.at(Address.parse(address))
    with WatchServer(listener, folder) as server:
        # The poll interval of the real one is an hour, which is how long its end would take.
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener.url, server
        finally:
            os.eventfd_write(server.leaving, 1)
            server.shutdown()
            thread.join()
