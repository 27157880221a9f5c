"""The page's process beside a run, which starts it: ``python -m loadcurve.watch FOLDER HOST DESCRIPTOR``."""

import socket
import sys
import threading
from pathlib import Path

from loadcurve.watch.address import Listener
from loadcurve.watch.process import READY, be_of_no_account
from loadcurve.watch.server import WatchServer


def main(folder: str, host: str, descriptor: str) -> None:
    """Serve on a socket that was handed over until standard input is closed."""
    server = WatchServer(Listener(socket.socket(fileno=int(descriptor)), host), Path(folder))
    server.prepare()
    be_of_no_account()
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    sys.stdin.buffer.read()
    server.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
