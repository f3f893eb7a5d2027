//go:build unix

package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// Behind a proxy that pools by transaction, no prepared statement outlives its transaction.
func TestStoreWorksBehindTransactionPooling(t *testing.T) {
	t.Parallel() // it mostly waits
	server := pgtest.NewServer(t)
	bouncer := server.Bouncer(t)
	const mode = "&default_query_exec_mode="
	t.Run("modes", func(t *testing.T) {
		for _, mode := range []string{"", mode + "cache_statement", mode + "describe_exec", mode + "exec", mode + "simple_protocol"} {
			pool := must.Get(postgres.Connect(t.Context(), bouncer.URL()+mode))(t)
			_, err := postgres.Open(t.Context(), pool, postgres.Config{})
			pool.Close()
			expect.True(t, errors.Is(err, storage.ErrInvalid), "%q: %v", mode, err)
			expect.True(t, strings.Contains(err.Error(), "CacheDescribe"), "%q: %v", mode, err)
		}
	})
	t.Run("contract", func(t *testing.T) {
		if !effort.Full() {
			t.Skip("TestContract runs the suite without the proxy; " + effort.Variable + "=full runs it here, too")
		}
		pool := must.Get(postgres.Connect(t.Context(), bouncer.URL()+mode+"cache_describe"))(t)
		t.Cleanup(pool.Close)
		contract(t, pool)
	})
	t.Run("killed and back", func(t *testing.T) {
		l := newLoad(t, bouncer.URL()+mode+"cache_describe")
		bouncer.Kill()
		outage()
		bouncer.Start(t)
		l.answered(time.Now())
		l.check(server.URL())
	})
}
