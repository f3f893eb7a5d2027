//go:build linux

package main

import (
	"os/exec"
	"strings"
	"syscall"

	"github.com/seed-7082ffec/payments/internal/test/pgbin"
)

// programs are what the cluster is made of.
type programs struct {
	etcd, patroni string
	postgres      string              // the directory of its programs
	account       *syscall.Credential // that runs them; nil for ours
}

// missingError names the Debian packages that are not installed.
type missingError []string

func (e missingError) Error() string {
	return "This example needs programs that are not installed. On Debian: apt-get install " + strings.Join(e, " ")
}

// findPrograms looks for the programs; a missingError says that some are not there.
func findPrograms() (*programs, error) {
	var p programs
	var missing missingError
	var err error
	if p.patroni, err = exec.LookPath("patroni"); err != nil {
		missing = append(missing, "patroni")
	}
	if p.etcd, err = exec.LookPath("etcd"); err != nil {
		missing = append(missing, "etcd-server")
	}
	if p.postgres, err = pgbin.Dir(); err != nil {
		missing = append(missing, "postgresql")
	}
	if missing != nil {
		return nil, missing
	}
	p.account, err = pgbin.Account()
	return &p, err
}
