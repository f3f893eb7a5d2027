// Package tap lets this module's tests look at what its test servers receive
// and answer. Nothing sets Handler but tests, through package contract.
package tap

import (
	"net/http"
	"testing"
)

// Handler, where not nil, is put around every handler that paymentstest serves.
// It is set before the tests begin.
var Handler func(testing.TB, http.Handler) http.Handler
