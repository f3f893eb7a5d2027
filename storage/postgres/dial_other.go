//go:build !linux

package postgres

import "syscall"

// setUserTimeout does nothing: keepalives alone detect a dead connection on this system.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
