#!/usr/bin/env bash
# gtlsclient 0.12.1 (Debian 12's ngtcp2-client) on a UDP port where nobody answers: it ends with status 0, as after an answer, and
# its --download folder is empty. A script that goes by the status takes a dead server for a served file; only the bytes tell.
# Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq ngtcp2-client=0.12.1+dfsg-1+deb12u1 ngtcp2-server=0.12.1+dfsg-1+deb12u1 libngtcp2-9=0.12.1+dfsg-1+deb12u1 \
    libngtcp2-crypto-gnutls2=0.12.1+dfsg-1+deb12u1 libnghttp3-3 libev4
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> /dev/null
mkdir served
echo hello > served/file.txt
port=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
fetch() { # prints the status of the client, and what it has written
    rm -rf got && mkdir got
    status=0
    usr/bin/gtlsclient --quiet --no-quic-dump --exit-on-all-streams-close --timeout=3s --download=got \
        127.0.0.1 "$port" "https://localhost:$port/file.txt" > log 2>&1 || status=$?
    echo "$1: status $status, file: $(cat got/file.txt 2> /dev/null || echo none)"
}
usr/sbin/gtlsserver --quiet -d served 127.0.0.1 "$port" key.pem certificate.pem > server.log 2>&1 &
server=$!
for _ in $(seq 100); do grep -qi "$(printf ':%04X' "$port")" /proc/net/udp && break; sleep 0.1; done
fetch served | tee seen
kill "$server"
wait "$server" || true
server=
fetch "nobody there" | tee -a seen
diff - seen << 'END'
served: status 0, file: hello
nobody there: status 0, file: none
END
