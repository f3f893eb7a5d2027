// Package pgtest gives tests a PostgreSQL to run on: the one that the variable
// PAYMENTS_TEST_POSTGRES names by its URL, or else a throwaway server, which is
// started when its programs are installed and ends with the test process.
//
// Without either, tests are skipped, unless PAYMENTS_REQUIRE_POSTGRES is set:
// then they fail. It is for tests alone, and for hosts' tests, too.
package pgtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/pgbin"
	"github.com/seed-7082ffec/payments/storage/postgres"
)

// The variables that a test run may set.
const (
	urlVariable     = "PAYMENTS_TEST_POSTGRES"
	requireVariable = "PAYMENTS_REQUIRE_POSTGRES"
)

// URL returns the address of the server, or skips the test.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(urlVariable); url != "" {
		return url
	}
	url, err := start()
	if err == nil {
		return url
	}
	if os.Getenv(requireVariable) != "" || !errors.Is(err, pgbin.ErrNotInstalled) {
		t.Fatalf("pgtest: %v", err)
	}
	t.Skipf("pgtest: %v; set %s to the URL of a server", err, urlVariable)
	return ""
}

// Pool returns a pool of at most size connections, which is closed at the end of
// the test.
func Pool(t testing.TB, size int) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(URL(t))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	config.MaxConns = int32(size)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Store returns an empty store, which the caller or its test closes.
func Store(t testing.TB) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(context.Background(), Pool(t, 16), postgres.Config{Schema: Schema(t)})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return store
}

var schemas atomic.Int64

// Schema returns the name of a schema that nobody else uses. It is dropped at the
// end of the test.
func Schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d_%d", os.Getpid(), time.Now().UnixNano(), schemas.Add(1))
	url := URL(t)
	t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Errorf("pgtest: %v", err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return name
}

// start starts the server of this process, once.
var start = sync.OnceValues(func() (string, error) {
	bin, err := pgbin.Dir()
	if err != nil {
		return "", err
	}
	s, err := newServer(bin)
	if err != nil {
		return "", err
	}
	if err := s.run(); err != nil {
		_ = os.RemoveAll(s.dir) // the error to report is another
		return "", err
	}
	running = append(running, s)
	return s.url, nil
})

// running keeps each server's input open.
var running []*server

// server is a throwaway server.
type server struct {
	bin, dir, url string
	as            *syscall.Credential // nil for this user
	input         io.Closer           // of its shell; held, since its end is the server's
}

func newServer(bin string) (*server, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &server{bin: bin, dir: dir}
	if s.as, err = pgbin.Account(); err != nil || s.as == nil {
		return s, err
	}
	return s, os.Chown(dir, int(s.as.Uid), int(s.as.Gid))
}

// run makes a database and starts the server, which stops by itself when this
// process is gone.
func (s *server) run() error {
	data := filepath.Join(s.dir, "data")
	initdb := s.command("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return err
	}
	s.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	// The shell waits for the end of its input, which is the end of this process,
	// however it comes, and then stops the server.
	// Benchmarks wait for the disk, tests need not: no test ends the server and
	// looks what is left.
	fsync := "off"
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		fsync = "on"
	}
	script := `"$0" -D "$1" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= ` +
		`-c max_connections=200 -c fsync="$4" -c shared_buffers=128MB -c max_wal_size=4GB -c max_locks_per_transaction=256 >"$3/log" 2>&1 & ` +
		`server=$!; read -r _; kill -QUIT $server; wait $server; rm -rf "$3"`
	cmd := exec.Command("/bin/sh", "-c", script, filepath.Join(s.bin, "postgres"), data, strconv.Itoa(port), s.dir, fsync)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	if s.input, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return s.await()
}

// await waits until the server answers.
func (s *server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log")) // for the error below
			return fmt.Errorf("the server does not answer: %w: %s", err, strings.TrimSpace(string(log)))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}
