//go:build unix

// Package pgbin finds the programs of an installed PostgreSQL, and the account that
// may run them. It is for tests and examples that start servers of their own.
package pgbin

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ErrNotInstalled says that there is no directory with initdb and postgres.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Dir returns the directory of initdb and postgres: that of the postgres in PATH, or
// else the newest under /usr/lib/postgresql.
func Dir() (string, error) {
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
	return "", ErrNotInstalled
}

// Account returns the account that a server must run as: PostgreSQL refuses to be run
// by root. It is nil, for the account of this process, unless that is root's.
func Account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
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
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("run by root, and there is no user postgres or nobody to run a server as")
}
