package httpapi_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-7082ffec/payments/bench/internal/httpload"
)

func TestMain(m *testing.M) {
	if httpload.IsChild() {
		os.Exit(httpload.Main())
	}
	if path := os.Getenv(serveVariable); path != "" {
		if err := serveAndTell(path, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "serve:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
