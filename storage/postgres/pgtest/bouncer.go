//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bouncer is a pgbouncer before a server, which pools by transaction.
type Bouncer struct {
	server *Server
	file   string
	port   int
	run    *exec.Cmd // nil while it is stopped
}

// Bouncer starts a pgbouncer that ends with the test, or skips the test where it is not
// installed. It has four connections to the server.
func (s *Server) Bouncer(t testing.TB) *Bouncer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	b := &Bouncer{server: s, file: filepath.Join(s.dir, "pgbouncer.ini"), port: listener.Addr().(*net.TCPAddr).Port}
	if err := listener.Close(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	config := fmt.Sprintf(`[databases]
postgres = host=127.0.0.1 port=%d dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
server_login_retry = 1
`, s.port, b.port)
	if err := os.WriteFile(b.file, []byte(config), 0o644); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(b.stop)
	b.Start(t)
	return b
}

// URL returns the address of the proxy. Add &default_query_exec_mode=cache_describe to it; see
// [github.com/seed-7082ffec/payments/storage/postgres.PoolConfig].
func (b *Bouncer) URL() string {
	return "postgres://postgres@127.0.0.1:" + strconv.Itoa(b.port) + "/postgres?sslmode=disable"
}

// Start starts the proxy, also after Kill, on the same address.
func (b *Bouncer) Start(t testing.TB) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer" // which is not in every user's path
		if _, err := os.Stat(path); err != nil {
			if os.Getenv(requireVariable) != "" {
				t.Fatal("pgtest: pgbouncer is not installed")
			}
			t.Skip("pgtest: pgbouncer is not installed")
		}
	}
	log, err := os.OpenFile(b.file+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer log.Close()
	// The shell ends it with this process, however that ends.
	cmd := exec.Command("/bin/sh", "-c", `"$0" -q "$1" & proxy=$!; read -r _; kill -KILL $proxy; wait $proxy`, path, b.file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.server.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.server.as, Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	b.run = cmd
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, b.URL())
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		if ctx.Err() != nil {
			said, _ := os.ReadFile(b.file + ".log") // for the error below
			t.Fatalf("pgtest: pgbouncer does not answer: %v: %s", errors.Join(err, ctx.Err()), said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Kill ends the proxy at once.
func (b *Bouncer) Kill() { b.stop() }

func (b *Bouncer) stop() {
	if b.run == nil {
		return
	}
	_ = syscall.Kill(-b.run.Process.Pid, syscall.SIGKILL) // the shell and the proxy
	_ = b.run.Wait()                                      // it reports the signal
	b.run = nil
}
