#!/usr/bin/env bash
# Gunicorn 27.0.1 (and 20.1.0 of Debian 12) with TLS gives each client session tickets and resumes no session: a client that comes
# back with its ticket gets a full handshake, in TLS 1.2 and 1.3, from one worker process. Python's ssl module itself resumes
# them, as the same client against http.server shows. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet gunicorn==27.0.1
venv/bin/gunicorn --version
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> /dev/null
cat > app.py << 'END'
def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"hi"]
END
cat > plain.py << 'END'
import http.server, ssl, sys
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
END
cat > client.py << 'END'
import socket, ssl, sys, time
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    context = ssl.create_default_context(cafile="certificate.pem")
    context.check_hostname = False
    context.minimum_version = context.maximum_version = version
    session = None
    for visit in ("first", "second"):
        for attempt in range(100):
            try:
                plain = socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5)
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        with plain, context.wrap_socket(plain, session=session) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while connection.recv(65536):
                pass
            session, resumed = connection.session, connection.session_reused
    print(sys.argv[1], version.name, "ticket:", session.has_ticket, "resumed:", resumed)
END
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
venv/bin/gunicorn app:app --workers 1 --bind "127.0.0.1:$port" --certfile certificate.pem --keyfile key.pem > log 2>&1 &
server=$!
python3 client.py gunicorn "$port" | tee seen
kill "$server"
wait "$server" || true
port=$(free_port)
python3 plain.py "$port" > log 2>&1 &
server=$!
python3 client.py http.server "$port" | tee -a seen
diff - seen << 'END'
gunicorn TLSv1_2 ticket: True resumed: False
gunicorn TLSv1_3 ticket: True resumed: False
http.server TLSv1_2 ticket: True resumed: True
http.server TLSv1_3 ticket: True resumed: True
END
