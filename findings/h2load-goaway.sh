#!/usr/bin/env bash
# h2load 1.52.0 (Debian 12) for a time (-D), on a server that ends each connection with GOAWAY after a number of requests, as nginx
# does after 1,000 by default: it opens no other connection, waits until the time is over, and divides the requests by all of it. So
# 10 connections have 10,000 answers in all, and the rate that it prints is 10,000 / duration, whatever the server can do (5,000/s
# in 2 s, 2,500/s in 4 s); all else that it says is that some dozens of requests under way failed. With a higher limit of the server
# the same load has 52,496/s here. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq nghttp2-client=1.52.0-1+deb12u3 nginx=1.22.1-9+deb12u11
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/h2load --version
usr/sbin/nginx -v
load() {
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir -p logs
    cat > nginx.conf << END
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events { }
http {
    access_log off; $1
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server { listen 127.0.0.1:$port http2; location / { return 200 "hi"; } }
}
END
    usr/sbin/nginx -p "$folder" -c nginx.conf > log 2>&1 &
    server=$!
    for _ in $(seq 100); do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; sleep 0.1; done
    usr/bin/h2load -c 10 -m 10 -D "$2" "http://127.0.0.1:$port/" > said
    kill "$server"
    wait "$server" || true
    server=
    grep -E "^(finished|requests)" said
}
for seconds in 2 4; do
    load "" "$seconds"
    grep -q "^requests: .* 10000 succeeded" said
    awk -v seconds="$seconds" '/^finished in/ { rate = $4; exit !(rate > 9900 / seconds && rate < 10100 / seconds) }' said
done
load "keepalive_requests 1000000;" 2
awk '/^requests:/ { exit !($2 > 20000) }' said
