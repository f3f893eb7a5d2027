// Package testhook lets this module's tests observe the requests and answers of its test
// servers. Only tests set Handler, through package contract.
package testhook

import (
	"net/http"
	"testing"
)

// Handler, if not nil, wraps every handler that paymentstest serves. It is set before the
// tests begin.
var Handler func(testing.TB, http.Handler) http.Handler
