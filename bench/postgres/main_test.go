package postgres_test

import (
	"os"
	"testing"

	"github.com/seed-7082ffec/payments/bench/internal/httpload"
)

func TestMain(m *testing.M) {
	if httpload.IsChild() {
		os.Exit(httpload.Main())
	}
	os.Exit(m.Run())
}
