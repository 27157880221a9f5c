"""Run a command and write the peak of its resident memory, in bytes, into a file: ``FILE COMMAND…``.

The kernel counts for a process what it held before it became the command, so a large program that starts a
small one would measure itself. This one imports nothing that the interpreter has not loaded already.
"""

import os
import sys


def main() -> None:
    """End with the exit code of the command."""
    file, *command = sys.argv[1:]
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    with open(file, "w", encoding="ascii") as report:  # noqa: PTH123 -- pathlib would make this program larger
        report.write(str(usage.ru_maxrss * 1024))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
