package life

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// overBackends runs a test on each kind of database.
func overBackends(t *testing.T, test func(*testing.T, backend)) {
	for _, on := range backends {
		t.Run(on.name, func(t *testing.T) { test(t, on) })
	}
}

// transferRows and paymentRows count the rows that lives leave.
var (
	transferRows = []string{
		"SELECT count(*) FROM disbursements WHERE status = 'completed' AND due IS NULL",
		"SELECT count(*) FROM rail_orders WHERE open IS NULL",
		"SELECT count(*) FROM events",
		"SELECT count(*) FROM idempotency_keys",
		"SELECT count(*) FROM ledger_postings WHERE type <> 'deposit'",
		"SELECT count(*) FROM ledger_entries WHERE number > 9",
	}
	paymentRows = []string{
		"SELECT count(*) FROM payments WHERE status = 'completed' AND due IS NULL",
		"SELECT count(*) FROM charge_orders WHERE open IS NULL",
		"SELECT count(*) FROM events",
		"SELECT count(*) FROM messages",
		"SELECT count(*) FROM idempotency_keys",
		"SELECT count(*) FROM ledger_postings WHERE type <> 'deposit'",
		"SELECT count(*) FROM ledger_entries WHERE number > 9",
	}
)

func TestBareLoopWritesRowsOfTransfer(t *testing.T) {
	testBareLoop(t, transferLife, transferRows, (*server).load, func(*server) {}, map[string]int64{
		"SELECT sum(balance) FROM ledger_accounts WHERE name LIKE '%/reserved'": 0,
		"SELECT balance FROM ledger_accounts WHERE name LIKE '%/operator/fees'": 120 * 10,
	})
}

func TestBareLoopWritesRowsOfPayment(t *testing.T) {
	testBareLoop(t, paymentLife, paymentRows, (*server).ask, (*server).watchPayments, map[string]int64{
		"SELECT balance FROM ledger_accounts WHERE name LIKE '%/clearing/charges'": -120,
	})
}

// testBareLoop checks that a bare loop leaves the rows and balances that the library leaves.
func testBareLoop(
	t *testing.T, life benchbase.Life, rows []string, load func(*server, int, int) httpload.Load, watch func(*server), balances map[string]int64,
) {
	overBackends(t, func(t *testing.T, on backend) {
		s := openServer(t, on.open(t))
		watch(s)
		count := func() (all []int64) {
			for _, query := range rows {
				all = append(all, s.count(t, query))
			}
			return all
		}
		s.live(t, load(s, 4, 40), maxOpen(4, 0)) // so that each account has its first entries
		empty := count()
		s.live(t, load(s, 4, 40), maxOpen(4, 0))
		library := count()
		s.stop()
		s.bare(t, life, group, 40)
		for i, got := range count() {
			if want := 2*library[i] - empty[i]; got != want || library[i] == empty[i] {
				t.Errorf("%s: %d of the library, %d of the bare loop", rows[i], library[i]-empty[i], got-library[i])
			}
		}
		wanted := maps.Clone(balances)
		wanted["SELECT sum(balance) FROM ledger_accounts"] = 0
		wanted["SELECT sum(entries) - (SELECT count(*) FROM ledger_entries) FROM ledger_accounts"] = 0
		for query, want := range wanted {
			expect.Equal(t, s.count(t, query), want, "%s", query)
		}
	})
}

func TestThinServerWritesEachRequestOnce(t *testing.T) {
	overBackends(t, func(t *testing.T, on backend) {
		s := openThin(t, on)
		post := func(key, token string) int {
			body := strings.NewReader(`{"amount":0.01,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`)
			r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/v1/disbursements", body))(t)
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("X-Idempotency-Key", key)
			answer := must.Get(http.DefaultClient.Do(r))(t)
			defer answer.Body.Close()
			return answer.StatusCode
		}
		for _, step := range []struct {
			key, token string
			want       int
		}{
			{"key-1", "sk_test_wrong", http.StatusUnauthorized},
			{"", s.key, http.StatusBadRequest},
			{"key-1", s.key, http.StatusOK},
			{"key-1", s.key, http.StatusConflict},
			{"key-2", s.key, http.StatusOK},
		} {
			expect.Equal(t, post(step.key, step.token), step.want, "%+v: answered", step)
		}
		for query, want := range map[string]int64{
			"SELECT count(*) FROM thin_keys": 2, "SELECT count(*) FROM thin_objects": 2, "SELECT count(*) FROM thin_events": 2,
			"SELECT count(*) FROM thin_postings": 2, "SELECT count(*) FROM thin_entries": 4,
			"SELECT sum(entries) FROM thin_accounts": 4, "SELECT max(balance) FROM thin_accounts WHERE id > 0": 2,
		} {
			expect.Equal(t, s.count(t, query), want, "%s", query)
		}
	})
}
