package faults_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// Each call in a host's transaction works in that transaction alone. A call that used the service's own store
// would wait for the host, or would not see what the host has not committed. So here that store fails.
func TestCallsInHostTransactionUseNoOtherStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payments.db")
	store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
	t.Cleanup(func() { must.Do(t, store.Close()) })
	s := newSubject(t, store)
	db := must.Get(sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_busy_timeout=2000&_txlock=immediate"))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	ofService := map[string]bool{"clock": true, "another service": true} // which are no calls of Services
	worked := 0
	for i, c := range s.calls {
		if ofService[c.name] {
			continue
		}
		id := c.prepared()
		host := must.Get(db.Begin())(t)
		own := must.Get(s.svc.InTx(t.Context(), store.In(host)))(t)
		inHost := s.methods(&payments.Service{Services: own.Services})[i]
		s.store.FailAt(1)
		_, err := inHost.do(t.Context(), s.named("host-", i), 20_000+i, id)
		expect.True(t, !s.store.Heal(), "%s uses the service's own store: %v", c.name, err)
		if err == nil {
			worked++
		} else if !errors.Is(err, api.ErrSecretInTx) && !errors.Is(err, api.ErrNetworkInTx) {
			t.Errorf("%s: %v", c.name, err)
		}
		must.Do(t, host.Rollback())
	}
	expect.True(t, worked > 100, "only %d calls work in a host's transaction", worked)
}
