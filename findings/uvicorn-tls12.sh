#!/usr/bin/env bash
# Uvicorn 0.17.6 (Debian 12 has it) with its default --ssl-ciphers, "TLSv1": Python's own client, limited to TLS 1.2, which both
# offer, finds no common cipher, because OpenSSL means by TLSv1 the suites that TLS 1.0 brought, with SHA-1, which
# that client leaves out. With TLS 1.3, to which the setting does not apply, and with --ssl-ciphers DEFAULT it is served.
# Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet uvicorn==0.17.6 h11==0.13.0 click==8.1.7 asgiref==3.7.2
venv/bin/uvicorn --version
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> /dev/null
cat > app.py << 'END'
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})
END
cat > client.py << 'END'
import socket, ssl, sys
port, version = int(sys.argv[1]), ssl.TLSVersion[sys.argv[2]]
context = ssl.create_default_context(cafile="certificate.pem")
context.check_hostname = False
context.minimum_version = context.maximum_version = version
try:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain, context.wrap_socket(plain) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        print(connection.recv(100).split(b"\r\n")[0].decode())
except (ssl.SSLError, ConnectionError) as error:
    print(f"refused: {type(error).__name__}")
END
answers() { # the options of the server; prints what a client of TLS 1.2 and one of TLS 1.3 get
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    venv/bin/uvicorn app:app --port "$port" --ssl-certfile certificate.pem --ssl-keyfile key.pem "$@" > log 2>&1 &
    server=$!
    for _ in $(seq 100); do grep -q "running on" log && break; sleep 0.1; done
    for version in TLSv1_2 TLSv1_3; do echo "$* $version: $(python3 client.py "$port" "$version")"; done
    kill "$server"
    wait "$server" || true
    server=
}
{ answers; answers --ssl-ciphers DEFAULT; } | tee seen
diff - seen << 'END'
 TLSv1_2: refused: SSLEOFError
 TLSv1_3: HTTP/1.1 200 OK
--ssl-ciphers DEFAULT TLSv1_2: HTTP/1.1 200 OK
--ssl-ciphers DEFAULT TLSv1_3: HTTP/1.1 200 OK
END
