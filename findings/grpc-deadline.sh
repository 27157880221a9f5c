#!/usr/bin/env bash
# What becomes of a call of gRPC whose handler outlives the deadline that it came with (grpc-timeout), as the bytes of HTTP/2 say it,
# to a client that waits without a timer of its own. grpcio 1.85.1 (Python) ends it at the deadline with trailers, grpc-status 4
# (DEADLINE_EXCEEDED). grpc-go 1.85.0 sends no status at all: at the deadline it resets the stream with CANCEL, which the mapping of gRPC has for a
# call that was cancelled (1). connect-go 1.18.1 ends it neither: the handler runs to its end, and its answer comes
# late with status 0. So what counts statuses alone sees a deadline that was missed as one of three things, by the server. Exits with 0
# while this is so.
set -eu
folder=$(mktemp -d)
servers=
trap '[ -z "$servers" ] || kill $servers 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check grpcio==1.85.1 h2==4.3.0
cat > server.py << 'END'
import time
from concurrent import futures
import grpc

def late(request, context):
    time.sleep(1)
    return b""

server = grpc.server(futures.ThreadPoolExecutor(4))
methods = {"Late": grpc.unary_unary_rpc_method_handler(late)}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", methods),))
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
END
mkdir grpc-go connect-go
cat > grpc-go/main.go << 'END'
package main

import (
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	late := func(_ any, stream grpc.ServerStream) error {
		stream.RecvMsg(&emptypb.Empty{})
		time.Sleep(time.Second)
		return stream.SendMsg(&emptypb.Empty{})
	}
	panic(grpc.NewServer(grpc.UnknownServiceHandler(late)).Serve(listener))
}
END
cat > connect-go/main.go << 'END'
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	late := func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
		time.Sleep(time.Second)
		return connect.NewResponse(&emptypb.Empty{}), nil
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := http.Server{Handler: connect.NewUnaryHandler("/a.B/Late", late), Protocols: protocols}
	panic(server.Serve(listener))
}
END
build() {
    cd "$1"
    go mod init late > go.log 2>&1
    go mod edit -require "$2" -require google.golang.org/protobuf@v1.36.10
    GOFLAGS=-mod=mod go build -o ../"$1.bin" . >> go.log 2>&1 || { cat go.log; exit 1; }
    cd ..
}
build grpc-go google.golang.org/grpc@v1.85.0
build connect-go connectrpc.com/connect@v1.18.1
cat > client.py << 'END'
"""Call with a deadline of 0.2 s, and say what ends the call, and when."""
import socket, sys, time
import h2.config, h2.connection, h2.events

stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
stream.settimeout(5)
connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
connection.initiate_connection()
fields = {":method": "POST", ":scheme": "http", ":path": "/a.B/Late", ":authority": "localhost"}
fields |= {"te": "trailers", "content-type": "application/grpc", "grpc-timeout": "200m"}
connection.send_headers(1, list(fields.items()))
connection.send_data(1, b"\0\0\0\0\0", end_stream=True)
began = time.monotonic()
end = None
while end is None:
    stream.sendall(connection.data_to_send())
    for event in connection.receive_data(stream.recv(65536)):
        if isinstance(event, h2.events.StreamReset):
            end = f"reset {int(event.error_code)}"
        elif isinstance(event, (h2.events.TrailersReceived, h2.events.ResponseReceived)):
            status = dict(event.headers).get("grpc-status")
            end = end if status is None else f"status {status}"
print(end, "early" if time.monotonic() - began < 0.7 else "late")
END
seen=
for start in "venv/bin/python server.py" ./grpc-go.bin ./connect-go.bin; do
    $start > port &
    servers="$servers $!"
    for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
    end=$(venv/bin/python client.py "$(cat port)")
    echo "$start: $end"
    seen="$seen$end, "
    rm port
done
[ "$seen" = "status 4 early, reset 8 early, status 0 late, " ]
