package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "contract.db"), Config{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
