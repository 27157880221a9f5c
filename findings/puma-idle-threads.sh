#!/usr/bin/env bash
# Puma 5.6.5 (Debian 12) with its default of 5 threads: a connection that is kept holds its thread for 0.2 s after each answer, in
# case another request comes. Clients that open connections, ask once and keep them are served at 5 / 0.2 s = 25 a second, on an
# idle machine, and the same clients hundreds of times a second if they close. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq puma=5.6.5-3+deb12u2 ruby-nio4r=2.5.8-3
for package in *.deb; do dpkg -x "$package" .; done
export GEM_PATH="$folder/usr/lib/x86_64-linux-gnu/rubygems-integration/3.1.0"
echo 'run lambda { |env| [200, { "Content-Length" => "2" }, ["hi"]] }' > config.ru
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
ruby usr/bin/puma --version
ruby usr/bin/puma --no-config --environment production --bind "tcp://127.0.0.1:$port" config.ru > log 2>&1 &
server=$!
for _ in $(seq 100); do grep -q "Ctrl-C" log && break; sleep 0.1; done
python3 - "$port" << 'END'
import socket, sys, time

def rate(header, count=50):
    """Return how many connections a second are opened and answered once; they stay open."""
    kept, begin = [], time.monotonic()
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        kept.append(connection)
    return count / (time.monotonic() - begin)

rate(b"", 5)
time.sleep(1)
kept, closed = rate(b""), rate(b"Connection: close\r\n")
print(f"kept: {kept:.0f} connections/s, closed: {closed:.0f} connections/s")
sys.exit(0 if 15 < kept < 30 and closed > 4 * kept else 1)
END
