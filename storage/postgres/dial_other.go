//go:build !linux

package postgres

import "syscall"

// limitSending is for systems whose keepalives alone find a dead connection.
func limitSending(_, _ string, _ syscall.RawConn) error { return nil }
