//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// roleVariable makes this program a child: a machine or a server.
const roleVariable = "PAYMENTS_CLUSTER_ROLE"

// play runs a child, and returns the status it ends with.
func play(role string) int {
	var err error
	switch role {
	case "machine":
		err = runMachine(os.Args[1:], os.Stdin, os.Stdout)
	case "server":
		err = runServer(os.Args[1], os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		return 1
	}
	return 0
}

// child is this program once more, in another role. It ends when its standard input
// does, and so with this process, however that ends.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// spawn starts a child in dir, as account unless that is nil. It logs to name.log there.
func spawn(role, name, dir string, account *syscall.Credential, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// By this name another account finds the program, too, which may lie in a
	// directory that is closed to it.
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = dir
	// Nothing else of this environment: PGHOST and its like would be meant for others.
	cmd.Env = []string{roleVariable + "=" + role, "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	cmd.Stderr = log
	// A session of its own: Ctrl-C reaches this process alone, and when it is killed the
	// system sends no SIGHUP to a child with frozen processes, which has to end them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account, Setsid: true}
	c := &child{name: name, cmd: cmd}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return c, cmd.Start()
}

// line reads a line of the child's output.
func (c *child) line() (string, error) {
	text, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s has ended: see its log with -dir", c.name)
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// close ends the child, by force if it takes longer than it may. It may be called again.
func (c *child) close() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	_ = c.in.Close() // it may have ended by itself
	late := time.AfterFunc(20*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	err := c.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s: %w", c.name, exit)
	}
	return nil
}
