#!/usr/bin/env bash
# h2load 1.52.0 (Debian 12): the file of --log-file has a line for each request that was answered or whose stream was reset, and none
# for requests that ended with their connection. A server answers ten requests on each connection and closes it while the next one is
# under way: of 100 requests by 4 clients the summary counts 60 as errors, and the log has 40 lines, none of which is a failure (-1).
# Exits with 0 while the log has as many lines as answers and no failure.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq nghttp2-client=1.52.0-1+deb12u3
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/h2load --version
cat > server.py << 'END'
import socket
import threading

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def serve(client):
    with client:
        for _ in range(10):
            if not client.recv(65536):
                return
            client.sendall(ANSWER)
        client.recv(65536)


with socket.create_server(("127.0.0.1", 0)) as listener:
    with open("port", "w") as file:
        print(listener.getsockname()[1], file=file)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END
python3 server.py &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
usr/bin/h2load --h1 -n 100 -c 4 --log-file=requests.tsv "http://127.0.0.1:$(cat port)/" > said
grep '^requests: ' said
lines=$(wc -l < requests.tsv)
failures=$(cut -f 2 requests.tsv | grep -c -- -1 || true)
answered=$(sed -nE 's/^requests: .* ([0-9]+) succeeded.*/\1/p' said)
errors=$(sed -nE 's/^requests: .* ([0-9]+) errored.*/\1/p' said)
echo "$answered answered and $errors errors by the summary; $lines lines in the log, of which $failures are failures"
[ "$errors" -gt 0 ] && [ "$lines" -eq "$answered" ] && [ "$failures" -eq 0 ]
