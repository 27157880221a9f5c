package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"

	"loadcurve-grpc-go/echo"
)

// echoing answers calls, and counts them and the messages that it has sent.
type echoing struct {
	echo.UnimplementedEchoServer
	unary, serverStreams, clientStreams, bidirectional, received, sent atomic.Uint64
}

func (calls *echoing) counted() map[string]uint64 {
	return map[string]uint64{
		"Unary":         calls.unary.Load(),
		"ServerStream":  calls.serverStreams.Load(),
		"ClientStream":  calls.clientStreams.Load(),
		"Bidirectional": calls.bidirectional.Load(),
		"received":      calls.received.Load(),
		"sent":          calls.sent.Load(),
	}
}

func (calls *echoing) Unary(_ context.Context, message *echo.Message) (*echo.Message, error) {
	calls.unary.Add(1)
	calls.received.Add(1)
	calls.sent.Add(1)
	return message, nil
}

func (calls *echoing) ServerStream(message *echo.Message, stream grpc.ServerStreamingServer[echo.Message]) error {
	calls.serverStreams.Add(1)
	calls.received.Add(1)
	for range max(1, message.GetAnswers()) {
		if err := stream.Send(message); err != nil {
			return err
		}
		calls.sent.Add(1)
	}
	return nil
}

func (calls *echoing) ClientStream(stream grpc.ClientStreamingServer[echo.Message, echo.Message]) error {
	calls.clientStreams.Add(1)
	last := &echo.Message{}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			calls.sent.Add(1)
			return stream.SendAndClose(last)
		}
		if err != nil {
			return err
		}
		calls.received.Add(1)
		last = message
	}
}

func (calls *echoing) Bidirectional(stream grpc.BidiStreamingServer[echo.Message, echo.Message]) error {
	calls.bidirectional.Add(1)
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		calls.received.Add(1)
		if err := stream.Send(message); err != nil {
			return err
		}
		calls.sent.Add(1)
	}
}
