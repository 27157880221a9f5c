"""So many processes that wait: ``COUNT idle|waking``; they end when the standard input is closed.

Idle ones sleep until then, waking ones look up ten times a second.
"""

import os
import select
import sys

WAKING_INTERVAL_S = 0.1


def main() -> None:
    """Start the processes, say so, and wait for the end."""
    count, kind = int(sys.argv[1]), sys.argv[2]
    interval_s = WAKING_INTERVAL_S if kind == "waking" else None
    alive, holds_alive = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            # Once the parent has ended, and the write end is closed everywhere, there is something to read.
            os.close(holds_alive)
            while not select.select([alive], [], [], interval_s)[0]:
                pass
            os._exit(0)
    print("started", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
