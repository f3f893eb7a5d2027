//go:build unix

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
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/pgbin"
)

var errNotInstalled = pgbin.ErrNotInstalled

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
	if err = s.initialize(); err == nil {
		err = s.launch()
	}
	if err != nil {
		_ = os.RemoveAll(s.dir) // the error to report is another
		return "", err
	}
	running = append(running, s)
	return s.URL(), nil
})

// running keeps each server's input open.
var running []*Server

// Server is a throwaway server of a test's own, which the test may kill, freeze,
// restart and promote. It is for one goroutine.
type Server struct {
	bin, dir string
	port     int
	as       *syscall.Credential // nil for this user
	shell    *exec.Cmd           // nil while the server is stopped
	input    io.WriteCloser      // of the shell; held, since its end is the server's
}

// NewServer starts a server that ends with the test, or skips the test where PostgreSQL is not
// installed. A setting has the form "max_connections=20".
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	bin, err := pgbin.Dir()
	if err == nil {
		var s *Server
		if s, err = newServer(bin); err == nil {
			t.Cleanup(s.remove)
			if err = s.copyEmpty(); err == nil {
				err = s.launch(settings...)
			}
		}
		if err == nil {
			return s
		}
	}
	if os.Getenv(requireVariable) != "" || !errors.Is(err, errNotInstalled) {
		t.Fatalf("pgtest: %v", err)
	}
	t.Skipf("pgtest: %v", err)
	return nil
}

// Standby starts a standby of a running server. Commits of the server wait for it
// from then on.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby, err := newServer(s.bin)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(standby.remove)
	backup := standby.command("pg_basebackup", "-D", standby.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pgtest: pg_basebackup: %v: %s", err, out)
	}
	if err := standby.launch(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	s.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Exec(t, "SELECT pg_reload_conf()")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	for synchronous := false; !synchronous; {
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')").Scan(&synchronous)
		if err != nil {
			t.Fatalf("pgtest: the standby does not follow: %v", err)
		}
	}
	return standby
}

// Addr returns the address of the server, such as "127.0.0.1:5432".
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's URL.
func (s *Server) URL() string { return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable" }

// Exec runs a statement on a connection of its own.
func (s *Server) Exec(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("pgtest: %s: %v", statement, err)
	}
}

// Promote makes a standby the primary, and returns when it takes writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "SELECT pg_promote(true, 60)")
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	s.stop()
}

// Start starts a server that was killed, on the same address.
func (s *Server) Start(t testing.TB, settings ...string) {
	t.Helper()
	if err := s.launch(settings...); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
}

// Freeze stops every process of the server for good. The kernel goes on to accept
// connections and data.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
}

// signal sends a signal to the server and to the processes that it has started. The
// first is the server itself, so that it starts no further ones.
func (s *Server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	server, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	children := func() (pids []int) {
		out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
		if err != nil {
			t.Fatalf("pgtest: ps: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			var pid, parent int
			if _, err := fmt.Sscan(line, &pid, &parent); err == nil && parent == server {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	before := children() // whose parent may change
	if err := syscall.Kill(server, signal); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	for _, pid := range append(before, children()...) {
		_ = syscall.Kill(pid, signal) // it may have ended by itself
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func newServer(bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if s.as, err = pgbin.Account(); err != nil || s.as == nil {
		return s, err
	}
	return s, os.Chown(dir, int(s.as.Uid), int(s.as.Gid))
}

// initialize makes an empty database by initdb.
func (s *Server) initialize() error {
	initdb := s.command("initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// empty is a server that never runs. Those of tests begin with a copy of its database, because initdb takes
// more than a second. A shell deletes it when this process is gone.
var empty = sync.OnceValues(func() (*Server, error) {
	bin, err := pgbin.Dir()
	if err != nil {
		return nil, err
	}
	s, err := newServer(bin)
	if err != nil {
		return nil, err
	}
	if err = s.initialize(); err == nil {
		err = s.watch(`read -r _; rm -rf "$1"`, s.dir)
	}
	if err != nil {
		_ = os.RemoveAll(s.dir) // the error to report is another
	}
	return s, err
})

// copyEmpty makes an empty database.
func (s *Server) copyEmpty() error {
	from, err := empty()
	if err != nil {
		return err
	}
	cp := exec.Command("cp", "-R", from.data(), s.data())
	cp.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	if out, err := cp.CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// launch starts the server, which stops by itself when this process is gone.
func (s *Server) launch(settings ...string) error {
	if s.port == 0 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.port = listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return err
		}
	}
	// Benchmarks wait for the disk. Tests need not, because no test loses the machine, nor need benchmarks
	// that are only tried: then the tests of the same process would wait, too.
	fsync := "off"
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" && !effort.Trial() {
		fsync = "on"
	}
	settings = append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "fsync=" + fsync,
		"shared_buffers=128MB", "max_wal_size=4GB", "max_locks_per_transaction=256",
		"dynamic_shared_memory_type=mmap", // that of /dev/shm would outlive a killed server
	}, settings...)
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	// The shell waits for the end of its input, and then stops the server.
	const script = `dir=$1; shift; "$@" >>"$dir/log" 2>&1 & server=$!; read -r keep; ` +
		`kill -QUIT $server; kill -CONT $server; wait $server; [ "$keep" ] || rm -rf "$dir"`
	if err := s.watch(script, append([]string{s.dir, filepath.Join(s.bin, "postgres")}, args...)...); err != nil {
		return err
	}
	return s.await()
}

// watch starts the shell of the server. The end of its input is the end of this process, however it comes.
func (s *Server) watch(script string, args ...string) error {
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.shell, s.input = cmd, input
	return nil
}

// stop ends the server and keeps its data.
func (s *Server) stop() {
	if s.shell == nil {
		return
	}
	_, _ = io.WriteString(s.input, "keep\n") // without a shell there is nothing to end
	_ = s.input.Close()
	_ = s.shell.Wait() // it reports the signal that ended the server
	s.shell, s.input = nil, nil
}

// remove ends the server and deletes its data.
func (s *Server) remove() {
	s.stop()
	_ = os.RemoveAll(s.dir) // the test has ended
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL())
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

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}
