"""A web server that takes one request at a time and spends a given time on each.

``queueing_server.py PORT FOLDER SERVICE_MS``
"""

import functools
import http.server
import itertools
import sys
import threading
import time

port, folder, service_s = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]) / 1000
tickets, turn = itertools.count(), threading.Condition()
served = 0


def serve_in_turn() -> None:
    """Spend the service time once all who came before have been served: a lock alone would not be fair."""
    global served  # noqa: PLW0603 -- one server, one counter
    with turn:
        ticket = next(tickets)
        turn.wait_for(lambda: served == ticket)
    time.sleep(service_s)
    with turn:
        served += 1
        turn.notify_all()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        serve_in_turn()
        super().do_GET()

    def log_request(self, *_: object) -> None:
        pass


Server(("127.0.0.1", port), functools.partial(Handler, directory=folder)).serve_forever()
