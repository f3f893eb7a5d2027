//go:build !unix

package pgtest

import "errors"

var errNotInstalled = errors.New("PostgreSQL is not installed")

// start starts no server: what starts one needs a Unix. A server that the variable
// names serves everywhere.
func start() (string, error) { return "", errNotInstalled }
