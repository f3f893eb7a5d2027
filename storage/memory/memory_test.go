package memory_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storage.Store { return memory.New() })
}

func Example() {
	store := memory.New()
	defer store.Close()
	ctx := context.Background()
	err := store.Update(ctx, func(tx storage.Tx) error {
		n, err := tx.Next("orders")
		fmt.Println("order", n)
		return err
	})
	fmt.Println(err)
	// Output:
	// order 1
	// <nil>
}
