"""A tree of processes on command: each line on stdin is a command, and its end is said on stdout.

`fork N`, `thread N`, `busy` (a thread that never rests; its id is said), `grow MIB`, `leave N` (children in
separate sessions), `burn S`, `brief N S` (children that burn processor time, one after the other, and
end) and `forget N S` (the same, with SIGCHLD ignored). Of `brief` and `forget` is said what processor time
the children had used at their end, in seconds.
"""

import os
import signal
import sys
import threading
import time

held: list[bytearray] = []
alive, holds_alive = os.pipe()
"""Children read from it and end with this process, which never writes."""


def wait_for_the_end() -> None:
    os.close(holds_alive)
    os.read(alive, 1)
    os._exit(0)


def fork(count: str) -> None:
    for _ in range(int(count)):
        if os.fork() == 0:
            wait_for_the_end()


def leave(count: str) -> None:
    for _ in range(int(count)):
        if os.fork() == 0:
            os.setsid()
            # Its parent ends at once, so that nothing but its environment tells whose it is.
            if os.fork() == 0:
                wait_for_the_end()
            os._exit(0)
        os.wait()


def thread(count: str) -> None:
    for _ in range(int(count)):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def busy() -> int:
    """Start a thread that never rests; return its id."""

    def burn_for_ever() -> None:
        while True:
            pass

    burning = threading.Thread(target=burn_for_ever, daemon=True)
    burning.start()
    return burning.native_id


def grow(mib: str) -> None:
    held.append(bytearray(b"x") * (int(mib) << 20))


def burn(seconds: str) -> None:
    end = time.process_time() + float(seconds)
    while time.process_time() < end:
        pass


def brief(count: str, seconds: str) -> float:
    used_s = 0.0
    for _ in range(int(count)):
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            burn(seconds)
            os.write(writing, str(time.process_time()).encode())
            os._exit(0)
        os.close(writing)
        used_s += float(os.read(reading, 100))
        os.close(reading)
        if signal.getsignal(signal.SIGCHLD) != signal.SIG_IGN:
            os.waitpid(pid, 0)
    return used_s


def forget(count: str, seconds: str) -> float:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    return brief(count, seconds)


COMMANDS = {command.__name__: command for command in (fork, leave, thread, busy, grow, burn, brief, forget)}
print("ready", flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    print(COMMANDS[name](*arguments), flush=True)
os._exit(0)
