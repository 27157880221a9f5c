"""A web server that fails after some requests: ``failing_server.py PORT FOLDER REQUESTS exits|hangs``."""

import functools
import http.server
import itertools
import os
import sys
import time

port, folder, requests_total, failure = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
count = itertools.count(1)


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if next(count) > requests_total:
            print("out of memory", flush=True)
            if failure == "exits":
                os._exit(3)
            time.sleep(3600)
        super().do_GET()

    def log_request(self, *_: object) -> None:
        pass


handler = functools.partial(Handler, directory=folder)
http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()
