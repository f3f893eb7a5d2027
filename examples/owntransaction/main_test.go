package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	dir, err := os.MkdirTemp("", "owntransaction")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), filepath.Join(dir, "shop.db"), os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// sale_1 is paid out
	// sale_1 was paid out before
	// sale_2 must wait for money
	// the seller has GHS 60.00
}
