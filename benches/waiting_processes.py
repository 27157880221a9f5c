"""Processes that wait: ``COUNT idle|waking|threaded``; they end when the standard input is closed.

Idle ones sleep until then, waking ones look up ten times a second. Threaded are ``COUNT`` threads that look
up, in processes of 25 each.
"""

import os
import select
import sys
import threading

WAKING_INTERVAL_S = 0.1
THREADS_OF_PROCESS = 25


def main() -> None:
    """Start the processes, say so, and wait for the end."""
    count, kind = int(sys.argv[1]), sys.argv[2]
    interval_s = None if kind == "idle" else WAKING_INTERVAL_S
    threads = THREADS_OF_PROCESS if kind == "threaded" else 1
    alive, holds_alive = os.pipe()

    def wait() -> None:
        while not select.select([alive], [], [], interval_s)[0]:
            pass

    for _ in range(count // threads):
        if os.fork() == 0:
            # Once the parent has ended, and the write end is closed everywhere, there is something to read.
            os.close(holds_alive)
            for _ in range(threads - 1):
                threading.Thread(target=wait, daemon=True).start()
            wait()
            os._exit(0)
    print("started", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
