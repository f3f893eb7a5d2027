//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// machine is a program with all of its descendants, in place of a computer: it can be
// frozen, thawed, and switched off.
type machine struct{ *child }

// newMachine starts a program as a machine. Its files lie in dir.
func newMachine(name, dir string, found *programs, args ...string) (*machine, error) {
	c, err := spawn("machine", name, dir, found.account, args...)
	if err != nil {
		return nil, err
	}
	return &machine{c}, nil
}

// freeze stops every process at once, as a computer does that hangs.
func (m *machine) freeze() error { return m.order("freeze") }

// thaw has them go on.
func (m *machine) thaw() error { return m.order("thaw") }

// lag stops what sends to the standby, and nothing else, as a network does that is slow.
func (m *machine) lag() error { return m.order("lag") }

// switchOff kills every process at once.
func (m *machine) switchOff() error {
	if err := m.order("kill"); err != nil {
		return err
	}
	return m.close()
}

func (m *machine) order(text string) error {
	if _, err := fmt.Fprintln(m.in, text); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	_, err := m.line()
	return err
}

// runMachine is the child: it starts the program and obeys orders until in ends.
func runMachine(args []string, in io.Reader, out io.Writer) error {
	// A process whose parent has ended becomes a child of this one: PostgreSQL leaves
	// Patroni that way. So all of the machine are descendants.
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	program, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Env: append(os.Environ(), roleVariable+"="), Files: []*os.File{null, os.Stderr, os.Stderr},
	})
	if err != nil {
		return err
	}
	exited, empty := make(chan struct{}), make(chan struct{})
	go reap(program.Pid, exited, empty)
	orders := make(chan string)
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			orders <- lines.Text()
		}
		close(orders)
	}()

	for {
		select {
		case <-exited:
			shutDown(program.Pid, empty)
			return fmt.Errorf("%s has ended by itself", args[0])
		case order, ok := <-orders:
			switch {
			case !ok:
				shutDown(program.Pid, empty)
				return nil
			case order == "freeze":
				signalAll(syscall.SIGSTOP)
			case order == "thaw":
				signalAll(syscall.SIGCONT)
			case order == "lag":
				for _, pid := range descendants(os.Getpid()) {
					title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
					if bytes.Contains(title, []byte("walsender")) {
						_ = syscall.Kill(pid, syscall.SIGSTOP) // as above
					}
				}
			case order == "kill":
				signalAll(syscall.SIGSTOP) // so that none is left that sees another's end
				signalAll(syscall.SIGKILL)
				<-empty
			}
			if _, err := fmt.Fprintln(out, "ok"); err != nil {
				return err
			}
			if order == "kill" {
				return nil
			}
		}
	}
}

// reap waits for children. It closes exited when the program has ended, and empty when
// the last has.
func reap(program int, exited, empty chan struct{}) {
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			close(empty)
			return
		case pid == program:
			close(exited)
		}
	}
}

// shutDown ends the program, and the others in such a way that PostgreSQL gives back
// its shared memory, which it would not when killed.
func shutDown(program int, empty chan struct{}) {
	_ = syscall.Kill(program, syscall.SIGKILL) // it may have ended
	signalAll(syscall.SIGQUIT)
	signalAll(syscall.SIGCONT)
	select {
	case <-empty:
	case <-time.After(5 * time.Second):
		signalAll(syscall.SIGKILL)
		<-empty
	}
}

// signalAll sends a signal to all descendants of this process, until there is none that
// has not got it.
func signalAll(signal syscall.Signal) {
	sent := map[int]bool{}
	for more := true; more; {
		more = false
		for _, pid := range descendants(os.Getpid()) {
			if !sent[pid] {
				sent[pid], more = true, true
				_ = syscall.Kill(pid, signal) // it may have ended
			}
		}
	}
}

// descendants returns the processes below one, parents before their children.
func descendants(of int) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	children := map[int][]int{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; after it come state and parent.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		children[parent] = append(children[parent], pid)
	}
	all := []int{of}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all[1:]
}
