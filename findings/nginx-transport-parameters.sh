#!/usr/bin/env bash
# nginx 1.26.3 (Debian 13) over QUIC: it keeps 16 bits of the identifier of a transport parameter. RFC 9000 (section 18.1) reserves
# identifiers of the form 31 * N + 27, of up to 62 bits, which clients send with random values and servers must ignore. Where the
# lowest 16 bits are those of a parameter that nginx knows, it takes the value for that parameter's: the handshake fails, or a limit
# is not the client's any more. Of 40,000 connections of a client with such identifiers, three failed. Exits with 0 while this is so.
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
bin/pip install --quiet aioquic==1.7.2
usr/sbin/nginx -v
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> /dev/null
port=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > nginx.conf << END
daemon off; worker_processes 1; pid nginx.pid; error_log error.log info;
events { }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {
        listen 127.0.0.1:$port quic;
        ssl_certificate $folder/certificate.pem; ssl_certificate_key $folder/key.pem;
    }
}
END
usr/sbin/nginx -p "$folder" -c nginx.conf -e error.log &
server=$!
for _ in $(seq 100); do grep -qi "$(printf ':%04X' "$port")" /proc/net/udp && break; sleep 0.1; done
cat > client.py << 'END'
import asyncio
import ssl
import sys

import aioquic.quic.connection as quic
from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.buffer import encode_uint_var
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated

push = quic.push_quic_transport_parameters


class Client(QuicConnectionProtocol):
    ends = []

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.ends.append(event)


def reserved(lowest_bits):
    """Return the smallest identifier 31 * N + 27 with more than 16 bits whose lowest 16 bits these are."""
    return next(one for one in range(0x10000 + lowest_bits, 1 << 40, 0x10000) if one % 31 == 27)


async def tried(lowest_bits, value):
    identifier = reserved(lowest_bits)

    def push_one_more(buffer, parameters):
        push(buffer, parameters)
        buffer.push_bytes(encode_uint_var(identifier) + encode_uint_var(1) + bytes([value]))

    quic.push_quic_transport_parameters = push_one_more
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    try:
        async with asyncio.timeout(10), connect(
            "127.0.0.1", int(sys.argv[1]), configuration=configuration, create_protocol=Client
        ) as client:
            await client.ping()
            said = "accepted"
    except ConnectionError:
        said = f"refused with error {Client.ends[-1].error_code}, {Client.ends[-1].reason_phrase}"
    print(f"reserved parameter {identifier:#x}: {said}")


# The lowest bits are of no parameter; of max_udp_payload_size; of ack_delay_exponent.
for lowest_bits, value in ((0x4000, 1), (0x0003, 1), (0x000A, 25)):
    asyncio.run(tried(lowest_bits, value))
END
bin/python client.py "$port" | tee seen
diff - seen << 'END'
reserved parameter 0x154000: accepted
reserved parameter 0xc0003: refused with error 8, invalid maximum packet size
reserved parameter 0x18000a: refused with error 8, invalid ack_delay_exponent
END
