"""A small web server that misbehaves as asked: ``scripted_server.py PORT FOLDER [BEHAVIOUR]…``."""

import functools
import http.server
import os
import signal
import sys
import time
from pathlib import Path

port, folder, behaviours = int(sys.argv[1]), sys.argv[2], set(sys.argv[3:])


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if "dies-when-asked" in behaviours or ("dies-of-64k" in behaviours and "64k" in self.path):
            print("this is the end", flush=True)
            os._exit(3)
        if "silent" in behaviours:
            time.sleep(3600)
        if "unavailable" in behaviours:
            self.send_error(503)
        elif "same-length" in behaviours:
            self._send(b"x" * Path(folder, self.path[1:]).stat().st_size)
        elif "shorter" in behaviours:
            self._send(b"short")
        else:
            super().do_GET()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def sleep_in_a_child(*, own_session: bool) -> None:
    """Fork a child that outlives this process, in this session or in its own."""
    if os.fork() == 0:
        if own_session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)
        os._exit(0)


def hide(*, from_parent: bool) -> None:
    """Start a process of another session, folder and environment, with no file open, and maybe no parent."""
    child = os.fork()
    if child != 0:
        if from_parent:
            os.waitpid(child, 0)
        return
    os.setsid()
    if from_parent and os.fork() != 0:
        os._exit(0)
    os.chdir("/")
    os.closerange(0, 256)
    os.execve("/bin/sleep", ["sleep", "3600"], {})


if "hides" in behaviours:
    hide(from_parent=True)
if "hides-below" in behaviours:
    hide(from_parent=False)
if "daemon" in behaviours:
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
if "dies" in behaviours:
    sys.exit("cannot go on")
if "ignores-sigterm" in behaviours:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "forks" in behaviours:
    sleep_in_a_child(own_session=False)
if "forks-away" in behaviours:
    sleep_in_a_child(own_session=True)
if "never-listens" in behaviours:
    time.sleep(3600)
handler = functools.partial(Handler, directory=folder)
http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()
