"""Hand a URL to a process that listens on a port, and wait until it is done: ``handed_over.py PORT URL``.

It starts in a few milliseconds, which a program that measures loads does not.
"""

import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(sys.argv[2].encode() + b"\n")
    connection.recv(1)
