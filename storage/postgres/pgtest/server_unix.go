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
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// start starts the server of this process, once.
var start = sync.OnceValues(func() (string, error) {
	bin, err := programs()
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

// programs returns the directory of initdb and postgres.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for another name
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append([]string{path}, found...)
	}
	for _, path := range found {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errNotInstalled
}

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
	if os.Geteuid() != 0 {
		return s, nil
	}
	// PostgreSQL refuses to be run by root.
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return s, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("run by root, and there is no user postgres or nobody to run a server as")
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
