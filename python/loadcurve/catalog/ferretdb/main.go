// Command loadcurve-ferretdb is FerretDB on SQLite: the protocol of MongoDB, and a folder of SQLite files behind it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// ferretDBModule is the module whose version is that of this server.
const ferretDBModule = "github.com/FerretDB/FerretDB"

// options are what the command line says.
type options struct {
	listen      string
	data        string
	synchronous string
	journalMode string
	version     bool
}

func main() {
	asked, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadcurve-ferretdb: %v\n", err)
		os.Exit(2)
	}
	if asked.version {
		fmt.Printf("loadcurve-ferretdb %s\n", ferretDBVersion())
		return
	}
	if err := serve(asked); err != nil {
		fmt.Fprintf(os.Stderr, "loadcurve-ferretdb: %v\n", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (options, error) {
	var asked options
	flags := flag.NewFlagSet("loadcurve-ferretdb", flag.ContinueOnError)
	flags.StringVar(&asked.listen, "listen", "", "`ADDRESS:PORT` to listen on")
	flags.StringVar(&asked.data, "data", "", "`FOLDER` of the SQLite files, which exists")
	flags.StringVar(&asked.synchronous, "synchronous", "full", "SQLite's `MODE` synchronous: off, normal, full or extra")
	flags.StringVar(&asked.journalMode, "journal-mode", "wal", "SQLite's `MODE` journal_mode")
	flags.BoolVar(&asked.version, "version", false, "print the version of FerretDB")
	if err := flags.Parse(arguments); err != nil {
		return asked, err
	}
	if flags.NArg() > 0 {
		return asked, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if !asked.version && (asked.listen == "" || asked.data == "") {
		return asked, errors.New("--listen and --data are needed")
	}
	return asked, nil
}

// serve answers until it is asked to stop by SIGTERM or SIGINT.
func serve(asked options) error {
	stopping, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	// FerretDB hands a folder's name to SQLite unescaped, so a name with % or ? in it would lead elsewhere.
	if err := os.Chdir(asked.data); err != nil {
		return err
	}
	// Only errors are printed: FerretDB has a line for each connection and each command that fails.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	database, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: asked.listen},
		Logger:    logger,
		Handler:   "sqlite",
		SQLiteURL: sqliteURL(asked),
	})
	if err != nil {
		return err
	}
	return database.Run(stopping)
}

// sqliteURL names the folder that is the current one, and what SQLite is told of each connection.
//
// The busy handler comes before the journal's mode, because changing that one may have to wait for a lock.
func sqliteURL(asked options) string {
	pragmas := url.Values{"_pragma": {
		"busy_timeout(10000)",
		fmt.Sprintf("journal_mode(%s)", asked.journalMode),
		fmt.Sprintf("synchronous(%s)", asked.synchronous),
	}}
	return "file:./?" + pragmas.Encode()
}

// ferretDBVersion is the version of FerretDB that was built in.
func ferretDBVersion() string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			if module.Path == ferretDBModule {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
