//go:build linux

// Cluster builds a PostgreSQL cluster on this machine, lets it fail under load, and
// counts what came of it: a primary and a synchronous standby under Patroni, etcd, and
// two servers of the library behind a proxy. It kills the primary, then freezes the
// next one, and reports what was acknowledged, lost and doubled, and how long clients
// waited. It ends with an error when anything was lost or doubled, or stayed unanswered.
//
//	apt-get install patroni etcd-server postgresql
//	go run ./examples/cluster
//
// With -stall nothing reaches the standby for so long before the primary is killed:
// commits must wait, and those that are answered meanwhile must not be lost either. With
// -async commits do not wait, and acknowledged work is lost:
//
//	go run ./examples/cluster -async -stall 500ms
//
// All of it listens on loopback, keeps its files in one temporary directory, and ends
// with this program, however that ends. It takes a minute and a half.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	callers         int
	duration, stall time.Duration
	async           bool
	dir             string
}

// limit bounds the whole, whatever hangs, beside what -stall asks for.
const limit = 6 * time.Minute

// required says that a missing program is an error.
const required = "PAYMENTS_REQUIRE_CLUSTER"

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	var o options
	flag.IntVar(&o.callers, "callers", 16, "how many clients send requests at a time")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "how long the load runs before, between and after the failures, each")
	flag.DurationVar(&o.stall, "stall", 0, "how long the standby gets nothing from the primary before that is killed")
	flag.BoolVar(&o.async, "async", false, "replicate asynchronously, to see what that loses")
	flag.StringVar(&o.dir, "dir", "", "make this directory and keep data and logs in it (default: a temporary one, removed at the end)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o, os.Stdout)
	var missing missingError
	if errors.As(err, &missing) && os.Getenv(required) == "" {
		fmt.Println(missing)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run builds the cluster, goes through the failures, and prints the report.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.callers < 1 || o.duration <= 0 {
		return errors.New("callers and duration must be more than nothing")
	}
	found, err := findPrograms()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+o.stall)
	defer cancel()

	dir, remove, err := directory(o.dir, found)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()

	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	say("Starting etcd, two PostgreSQL under Patroni, and two servers.")
	c, err := newCluster(ctx, found, dir, o.async)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	s, err := newShop(ctx, c.url())
	if err != nil {
		return err
	}
	front, err := newFront(ctx, dir, c.url())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, front.close()) }()

	l := newLoad(ctx, front.address, s, o.callers)
	scenes, failed := failures(ctx, c, l, o, say)
	l.stop()
	if err := ctx.Err(); err != nil {
		return err
	}
	// What the servers hold in memory must not help to find anything again.
	if err := front.close(); err != nil {
		return errors.Join(failed, err)
	}
	books, err := audit(ctx, c.url(), s, l.acknowledged())
	if err != nil {
		return errors.Join(failed, err)
	}
	report(out, scenes, l, books)
	return errors.Join(failed, l.verdict(), books.verdict())
}

// directory returns the directory of all files, which the account of the programs may
// enter, and what removes it in the end.
func directory(name string, found *programs) (dir string, remove func() error, err error) {
	if name != "" {
		dir, remove = name, func() error { return nil }
		err = os.Mkdir(dir, 0o700)
	} else {
		dir, err = os.MkdirTemp("", "cluster")
		remove = func() error { return os.RemoveAll(dir) }
	}
	if err == nil && found.account != nil {
		err = os.Chown(dir, int(found.account.Uid), int(found.account.Gid))
	}
	return dir, remove, err
}
