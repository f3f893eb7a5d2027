package postgres

import (
	"testing"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store { return open(t, Config{}) })
}

// open opens a store in a schema of its own.
func open(t testing.TB, config Config) *Store {
	t.Helper()
	if config.Schema == "" {
		config.Schema = pgtest.Schema(t)
	}
	s, err := Open(t.Context(), pgtest.Pool(t, 8), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
