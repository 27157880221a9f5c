#!/usr/bin/env bash
# siege 4.0.7 (Debian 12): half of 40 requests ask for a path that is not there and are answered with 404. It reports an availability
# of 100 % and no failed transaction, although only 20 of 40 transactions are successful: answers of 4xx are neither. Where the same
# half is answered with 503, the availability is 50 %, 20 transactions failed, and only the other 20 count as transactions. Exits with
# 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq siege=4.0.7-1+b1 libssl3 nginx=1.22.1-9+deb12u11
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(dirname "$(find "$folder" -name libssl.so.3)")
export LD_LIBRARY_PATH HOME=$folder
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p logs
cat > nginx.conf << END
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events { }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {
        listen 127.0.0.1:$port;
        location / { return 200 "hello"; }
        location /missing { return 404 "missing"; }
        location /busy { return 503 "busy"; }
    }
}
END
usr/sbin/nginx -p "$folder" -c nginx.conf > log 2>&1 &
server=$!
for _ in $(seq 100); do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; sleep 0.1; done
sed 's/^json_output = true/json_output = false/; s/^verbose = true/verbose = false/' etc/siege/siegerc > siegerc
usr/bin/siege -R siegerc --version 2>&1 | grep SIEGE
half_of() { # PATH: what siege says of 40 requests, of which every second one is for this path
    printf 'http://127.0.0.1:%s/\nhttp://127.0.0.1:%s%s\n' "$port" "$port" "$1" > urls
    usr/bin/siege -R siegerc -b -c 1 -r 40 -f urls 2>&1 |
        sed -nE 's/^(Transactions|Availability|Successful transactions|Failed transactions):[[:space:]]+([0-9.]+).*/\1 \2/p' |
        tr '\n' ',' | sed 's/,$//; s/,/, /g'
}
missing=$(half_of /missing)
busy=$(half_of /busy)
echo "404: $missing"
echo "503: $busy"
[ "$missing" = "Transactions 40, Availability 100.00, Successful transactions 20, Failed transactions 0" ]
[ "$busy" = "Transactions 20, Availability 50.00, Successful transactions 20, Failed transactions 20" ]
