#!/usr/bin/env bash
# nginx 1.26.3 (Debian 13): worker_connections counts each open stream of HTTP/3, but no stream of HTTP/2. With 64 of them, 100
# requests at once on one connection are all answered over HTTP/2; over HTTP/3, 45 are rejected (H3_REQUEST_REJECTED), which the log
# has as a warning; the other nine are those of nginx itself, of the connection, and of its streams of control. Where there are
# none left, nginx also ends connections that are between two requests. A load of 10 connections of 64 streams met this with 1,024,
# since nginx replaces connections after 1,000 requests: nearly all requests failed from then on, because connections that have ended
# stay counted for a while. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian main //p' | head -1)
mkdir -p lists/partial archives/partial
echo "deb [trusted=yes] $mirror trixie main" > sources.list
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
        -o Dir::Cache="$folder" -o Dir::State::status=/dev/null -o APT::Sandbox::User= "$@"
}
apt update
apt download nginx=1.26.3-3+deb13u10
dpkg -x nginx_*.deb .
python3 -m venv .
bin/pip install --quiet aioquic==1.7.2 h2==4.4.1
usr/sbin/nginx -v
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> /dev/null
head -c 65536 /dev/zero > 64k.bin
port=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > nginx.conf << END
daemon off; worker_processes 1; pid nginx.pid; error_log error.log; user $(id -un);
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {
        listen 127.0.0.1:$port quic; listen 127.0.0.1:$port ssl; http2 on; root $folder;
        ssl_certificate $folder/certificate.pem; ssl_certificate_key $folder/key.pem;
    }
}
END
usr/sbin/nginx -p "$folder" -c nginx.conf -e error.log &
server=$!
for _ in $(seq 100); do grep -qi "$(printf ':%04X' "$port")" /proc/net/udp && break; sleep 0.1; done
cat > client.py << 'END'
import asyncio
import socket
import ssl
import sys

import h2.connection
import h2.events
from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset

PORT, REQUESTS = int(sys.argv[1]), 100
HEAD = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/64k.bin")]


class Client(QuicConnectionProtocol):
    def start(self):
        self.answered, self.rejected, self.over = 0, 0, asyncio.Event()
        self.http = H3Connection(self._quic)
        for _ in range(REQUESTS):
            stream = self._quic.get_next_available_stream_id()
            self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in HEAD], end_stream=True)
        self.transmit()

    def quic_event_received(self, event):
        if not hasattr(self, "http"):
            return
        self.rejected += isinstance(event, StreamReset) and event.error_code == ErrorCode.H3_REQUEST_REJECTED
        for one in self.http.handle_event(event):
            self.answered += isinstance(one, DataReceived) and one.stream_ended
        if self.answered + self.rejected == REQUESTS:
            self.over.set()


async def over_http3():
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    async with connect("127.0.0.1", PORT, configuration=configuration, create_protocol=Client) as client:
        client.start()
        await asyncio.wait_for(client.over.wait(), 30)
        return client.answered, client.rejected


def over_http2():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(socket.create_connection(("127.0.0.1", PORT), timeout=30)) as connection:
        http, answered = h2.connection.H2Connection(), 0
        http.initiate_connection()
        for _ in range(REQUESTS):
            http.send_headers(http.get_next_available_stream_id(), HEAD, end_stream=True)
        while answered < REQUESTS:
            connection.sendall(http.data_to_send())
            data = connection.recv(65536)
            if not data:
                break
            for event in http.receive_data(data):
                if isinstance(event, h2.events.DataReceived):
                    http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                answered += isinstance(event, h2.events.StreamEnded)
        return answered, 0


for version, (answered, rejected) in (("HTTP/2", over_http2()), ("HTTP/3", asyncio.run(over_http3()))):
    print(f"{version}: of {REQUESTS} requests {answered} were answered and {rejected} rejected")
END
bin/python client.py "$port" | tee seen
grep -o '64 worker_connections are not enough' error.log | sort -u | tee -a seen
diff - seen << 'END'
HTTP/2: of 100 requests 100 were answered and 0 rejected
HTTP/3: of 100 requests 55 were answered and 45 rejected
64 worker_connections are not enough
END
