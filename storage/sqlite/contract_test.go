package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestContract(t *testing.T) {
	var path string
	reopen := func(t *testing.T) storage.Store {
		return must.Get(Open(t.Context(), path, Config{}))(t)
	}
	storagetest.Run(t, func(t *testing.T) storage.Store {
		path = filepath.Join(effort.TempDir(t), "contract.db")
		return reopen(t)
	}, storagetest.Reopens(reopen))
}
