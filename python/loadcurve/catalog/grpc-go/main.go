// Command loadcurve-grpc-go answers calls of gRPC of each kind with the messages that were sent, by grpc-go.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // which calls may ask for
	"google.golang.org/grpc/reflection"

	"loadcurve-grpc-go/echo"
)

// grpcModule is the module whose version is that of this server.
const grpcModule = "google.golang.org/grpc"

// options are what the command line says.
type options struct {
	listen  string
	counts  bool
	version bool
}

func main() {
	asked, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadcurve-grpc-go: %v\n", err)
		os.Exit(2)
	}
	if asked.version {
		fmt.Printf("loadcurve-grpc-go %s\n", grpcVersion())
		return
	}
	if err := serve(asked); err != nil {
		fmt.Fprintf(os.Stderr, "loadcurve-grpc-go: %v\n", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (options, error) {
	var asked options
	flags := flag.NewFlagSet("loadcurve-grpc-go", flag.ContinueOnError)
	flags.StringVar(&asked.listen, "listen", "", "`ADDRESS:PORT` to listen on")
	flags.BoolVar(&asked.counts, "counts", false, "print at the end how many calls and messages were answered, as JSON")
	flags.BoolVar(&asked.version, "version", false, "print the version of grpc-go")
	if err := flags.Parse(arguments); err != nil {
		return asked, err
	}
	if flags.NArg() > 0 {
		return asked, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !asked.version && asked.listen == "" {
		return asked, errors.New("--listen is needed")
	}
	return asked, nil
}

// serve answers until it is asked to stop by SIGTERM or SIGINT.
func serve(asked options) error {
	stopping := make(chan os.Signal, 1)
	signal.Notify(stopping, syscall.SIGTERM, syscall.SIGINT)

	listener, err := net.Listen("tcp", asked.listen)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	server := grpc.NewServer()
	calls := &echoing{}
	echo.RegisterEchoServer(server, calls)
	reflection.Register(server)
	go func() {
		<-stopping
		server.Stop()
	}()
	if err := server.Serve(divided(listener)); err != nil {
		return err
	}
	if asked.counts {
		return json.NewEncoder(os.Stdout).Encode(calls.counted())
	}
	return nil
}

func grpcVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range build.Deps {
			if dependency.Path == grpcModule {
				return dependency.Version[1:]
			}
		}
	}
	return "unknown"
}
