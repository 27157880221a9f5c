"""A web server that fails after some requests.

``failing_server.py PORT FOLDER REQUESTS exits|hangs|shortens``
"""

import functools
import http.server
import itertools
import os
import sys
import time

port, folder, requests_total, failure = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
count = itertools.count(1)
SHORT_BODY = b"x" * 512


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        number = next(count)
        if number > requests_total and failure != "shortens":
            print("out of memory", flush=True)
            if failure == "exits":
                os._exit(3)
            time.sleep(3600)
        if number > requests_total and number % 2:
            self.send_response(200)
            self.send_header("Content-Length", str(len(SHORT_BODY)))
            self.end_headers()
            self.wfile.write(SHORT_BODY)
        else:
            super().do_GET()

    def log_request(self, *_: object) -> None:
        pass


handler = functools.partial(Handler, directory=folder)
http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()
