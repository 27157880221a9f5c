package main

import (
	"bytes"
	"io"
	"net"
	"time"
)

// preface is how a connection of HTTP/2 begins (RFC 9113, section 3.4).
const preface = "PRI "

// prefacePatience is how long a connection may take to say what it is.
const prefacePatience = 10 * time.Second

const ready = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// dividedListener hands out the connections of HTTP/2, and answers others itself: Loadcurve asks a server whether it is
// ready by a request of HTTP/1.1, which grpc-go does not speak.
type dividedListener struct {
	net.Listener
	accepted chan net.Conn
	failed   chan error
}

func divided(listener net.Listener) net.Listener {
	both := &dividedListener{listener, make(chan net.Conn), make(chan error)}
	go both.run()
	return both
}

// Accept returns the next connection of HTTP/2.
func (both *dividedListener) Accept() (net.Conn, error) {
	select {
	case connection := <-both.accepted:
		return connection, nil
	case err := <-both.failed:
		return nil, err
	}
}

func (both *dividedListener) run() {
	for {
		connection, err := both.Listener.Accept()
		if err != nil {
			both.failed <- err
			return
		}
		go both.divide(connection)
	}
}

func (both *dividedListener) divide(connection net.Conn) {
	begin := make([]byte, len(preface))
	_ = connection.SetReadDeadline(time.Now().Add(prefacePatience))
	if _, err := io.ReadFull(connection, begin); err != nil {
		_ = connection.Close()
		return
	}
	_ = connection.SetReadDeadline(time.Time{})
	if string(begin) != preface {
		_, _ = io.WriteString(connection, ready)
		_ = connection.Close()
		return
	}
	both.accepted <- &begun{connection, bytes.NewReader(begin)}
}

// begun is a connection of which the first bytes were read.
type begun struct {
	net.Conn
	first *bytes.Reader
}

func (connection *begun) Read(to []byte) (int, error) {
	if connection.first != nil {
		if connection.first.Len() > 0 {
			return connection.first.Read(to)
		}
		connection.first = nil
	}
	return connection.Conn.Read(to)
}
