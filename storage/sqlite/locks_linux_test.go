package sqlite

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"modernc.org/libc"
	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// databaseSuffixes are the suffixes of the files of a database.
var databaseSuffixes = []string{"", "-wal", "-shm"}

// TestReadingDatabaseFilesLosesNoCommit has a host read the files of its open database,
// as a backup does that knows nothing of SQLite. Another program then opens and
// closes the database, and the host is killed.
func TestReadingDatabaseFilesLosesNoCommit(t *testing.T) {
	for name, read := range map[string][]string{
		"nothing": {}, "the database": {""}, "the log": {"-wal"}, "the index of the log": {"-shm"}, "all": databaseSuffixes,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), "test.db")
			h := startHost(t, path)
			want := h.commit("a", 5)
			for _, suffix := range read {
				h.do("read " + path + suffix)
			}
			expect.Equal(t, runVisitor(t, path, "look"), "ok", "another program")
			want = append(want, h.commit("b", 5)...)
			h.kill()

			s := openAt(t, path, Config{})
			must.Do(t, s.Define(t.Context(), notes))
			got := ids(t, s)
			slices.Sort(got)
			expect.True(t, slices.Equal(got, want), "%d commits were acknowledged, %d are left: %v", len(want), len(got), got)
		})
	}
}

// TestReadingDatabaseFilesKeepsWriteLock has the host read its files in the middle
// of an Update. Another program must not write before the Update ends.
func TestReadingDatabaseFilesKeepsWriteLock(t *testing.T) {
	for _, suffix := range databaseSuffixes {
		t.Run("db"+suffix, func(t *testing.T) {
			path := filepath.Join(effort.TempDir(t), "test.db")
			h := startHost(t, path)
			h.commit("a", 1)
			h.do("begin")
			h.do("read " + path + suffix)
			if got := runVisitor(t, path, "write"); !strings.Contains(got, "SQLITE_BUSY") {
				t.Errorf("another program's write beside an Update: %s, want SQLITE_BUSY", got)
			}
			h.do("end")
			expect.Equal(t, runVisitor(t, path, "write"), "ok", "another program's write after the Update")
			h.kill()

			s := openAt(t, path, Config{})
			var checked string
			if _, err := s.writer.conn.queryRow("PRAGMA integrity_check", nil, &checked); err != nil || checked != "ok" {
				t.Errorf("integrity_check: %s, %v", checked, err)
			}
			must.Do(t, s.Define(t.Context(), notes))
			got := ids(t, s)
			slices.Sort(got)
			if want := []string{"a0", "held", "visitor"}; !slices.Equal(got, want) {
				t.Errorf("the file holds %v, want %v", got, want)
			}
		})
	}
}

// hostProcess is another process that holds the store open.
type hostProcess struct {
	t       *testing.T
	command *exec.Cmd
	in      io.Writer
	out     *bufio.Scanner
	stderr  bytes.Buffer
}

// process makes the binary of this test run one of the roles below.
func process(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	binary := must.Get(os.Executable())(t)
	command := exec.CommandContext(t.Context(), binary, "-test.run=^"+role+"$")
	command.Env = append(append(os.Environ(), "PAYMENTS_TEST_DATABASE="+path), env...)
	return command
}

func startHost(t *testing.T, path string) *hostProcess {
	t.Helper()
	h := &hostProcess{t: t, command: process(t, "TestHelperHost", path)}
	in := must.Get(h.command.StdinPipe())(t)
	out := must.Get(h.command.StdoutPipe())(t)
	h.in, h.out = in, bufio.NewScanner(out)
	h.command.Stderr = &h.stderr
	must.Do(t, h.command.Start())
	t.Cleanup(h.kill)
	return h
}

// do sends a command and waits until it is acknowledged.
func (h *hostProcess) do(command string) {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in, command); err != nil {
		h.t.Fatalf("%s: %v", command, err)
	}
	if !h.out.Scan() || h.out.Text() != "ok" {
		h.t.Fatalf("%s: %q, %v\n%s", command, h.out.Text(), h.out.Err(), h.stderr.String())
	}
}

// commit makes n commits, and returns the ids of the notes.
func (h *hostProcess) commit(prefix string, n int) []string {
	h.t.Helper()
	var made []string
	for i := range n {
		made = append(made, fmt.Sprint(prefix, i))
		h.do("commit " + made[i])
	}
	return made
}

func (h *hostProcess) kill() {
	if h.command.ProcessState == nil {
		_ = h.command.Process.Kill()
		_ = h.command.Wait()
	}
}

// TestHelperHost is the host of the tests above, in a process of its own.
func TestHelperHost(t *testing.T) {
	path := os.Getenv("PAYMENTS_TEST_DATABASE")
	if path == "" {
		t.Skip("another test runs it in a process of its own")
	}
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	var held, ended chan struct{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("ok") {
		switch word, rest, _ := strings.Cut(in.Text(), " "); word {
		case "commit":
			insert(t, s, rest)
		case "read":
			must.Get(os.ReadFile(rest))(t)
		case "begin":
			began := make(chan struct{})
			held, ended = make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				err := s.Update(t.Context(), func(tx storage.Tx) error {
					if _, err := tx.Balance("none"); err != nil { // which takes the lock
						return err
					}
					close(began)
					<-held
					return tx.Insert(notes, note("held"))
				})
				if err != nil {
					t.Error(err)
				}
			}()
			<-began
		case "end":
			close(held)
			<-ended
		}
	}
}

// runVisitor runs another program that opens the database with POSIX locks, and returns
// what it says.
func runVisitor(t *testing.T, path, doing string) string {
	t.Helper()
	command := process(t, "TestHelperVisitor", path, "PAYMENTS_TEST_VISIT="+doing, "MODERNC_SQLITE_OFD_LOCK=0")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("visitor: %v\n%s", err, out)
	}
	said, _, _ := strings.Cut(string(out), "\n")
	return said
}

// TestHelperVisitor is the other program of the tests above.
func TestHelperVisitor(t *testing.T) {
	path := os.Getenv("PAYMENTS_TEST_DATABASE")
	if path == "" {
		t.Skip("another test runs it in a process of its own")
	}
	must.True(t, !sqlite.OFDLockingEnabled(), "MODERNC_SQLITE_OFD_LOCK=0 is not obeyed")
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	db.SetMaxOpenConns(1)
	statement := "SELECT count(*) FROM notes"
	if os.Getenv("PAYMENTS_TEST_VISIT") == "write" {
		statement = "INSERT INTO notes SELECT merchant, live, 'visitor', version, status, \"order\", starred, reference, due_at, lease, data FROM notes WHERE id = 'a0'"
	}
	if _, err := db.Exec(statement); err != nil {
		fmt.Println(err)
		return
	}
	// Before 3.51, SQLite asked only for these two locks before it deleted the log
	// on close; today it looks at the locks of the -shm file first.
	for _, lock := range []struct {
		suffix     string
		start, len int64
	}{{"", 1<<30 + 2, 510}, {"-shm", 128, 1}} {
		f := must.Get(os.OpenFile(path+lock.suffix, os.O_RDWR, 0))(t)
		flock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: lock.start, Len: lock.len}
		must.Do(t, syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &flock))
		if flock.Type == syscall.F_UNLCK {
			fmt.Printf("nothing keeps the last user's lock of %q away\n", lock.suffix)
		}
		must.Do(t, f.Close())
	}
	fmt.Println("ok")
}

// TestImportLeavesSQLiteUninitialized: the driver's RegisterPageCache still works in a
// program that imports this package.
func TestImportLeavesSQLiteUninitialized(t *testing.T) {
	if os.Getenv("PAYMENTS_TEST_DATABASE") == "" {
		if out, err := process(t, "TestImportLeavesSQLiteUninitialized", "none").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	tls := libc.NewTLS()
	defer tls.Close()
	expect.True(t, !initialized(tls), "SQLite is initialized before the first Open")
}
