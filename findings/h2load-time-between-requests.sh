#!/usr/bin/env bash
# h2load 1.52.0 (Debian 12) with 100 connections of one stream each (-c 100 -m 1): its mean time for a request multiplied by its rate
# is how many requests were in flight on average (Little's law). That is about 50, although each connection sends its next request as
# soon as the previous one is answered: the time that passes in h2load between an answer and the next request is in the rate, and not
# in the latency. With 100 streams on each of 10 connections the same product is above 900 of 1,000. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq nghttp2-client=1.52.0-1+deb12u3 nginx=1.22.1-9+deb12u11
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/h2load --version
usr/sbin/nginx -v
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p logs
cat > nginx.conf << END
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events { worker_connections 1000; }
http {
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server { listen 127.0.0.1:$port http2; location / { return 200 "hi"; } }
}
END
taskset -c 0 usr/sbin/nginx -p "$folder" -c nginx.conf > log 2>&1 &
server=$!
for _ in $(seq 100); do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; sleep 0.1; done
in_flight() { # CONNECTIONS STREAMS: the mean time for a request in seconds, times the rate
    taskset -c 1 usr/bin/h2load -c "$1" -m "$2" -D 3 "http://127.0.0.1:$port/" > said
    awk '
        /^finished in/ { rate = $4 }
        /^time for request/ { mean = $6; unit = mean; sub(/[0-9.]+/, "", unit); mean += 0 }
        END { print int(rate * mean * (unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : 1)) }' said
}
one=$(in_flight 100 1)
many=$(in_flight 10 100)
echo "100 connections of 1 stream: $one in flight; 10 connections of 100 streams: $many in flight"
[ "$one" -gt 20 ] && [ "$one" -lt 75 ] && [ "$many" -gt 900 ] && [ "$many" -le 1010 ]
