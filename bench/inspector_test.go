package bench

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for the bare queries

	library "github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage/sqlite"
	"github.com/seed-7082ffec/payments/webhook"
)

// busy is a shop with many payments of one customer, each with two events and a delivery.
type busy struct {
	*paymentstest.Shop
	look                        http.Handler
	payment, endpoint, customer string // ids
	db                          *sql.DB
}

func openBusy(b *testing.B, payments int) *busy {
	path := filepath.Join(b.TempDir(), "payments.db")
	s := &busy{Shop: paymentstest.NewWithStore(b, must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b), library.Config{WebhookAllow: paymentstest.Loopback()})}
	look := inspector.New(s.Service, inspector.Config{})
	b.Cleanup(look.Close)
	s.look = look
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(receiver.Close)
	s.endpoint = must.Get(s.Webhooks.Create(b.Context(), s.Caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{"*"}}))(b).ID
	s.customer = must.Get(s.Accounts.CreateCustomer(b.Context(), s.Caller, account.CreateCustomerParams{Name: "Kojo Antwi", Phone: "0241234569"}))(b).ID
	for range 30 { // the newest are whole
		s.payment = must.Get(s.Payments.Create(b.Context(), s.Caller, payment.CreateParams{
			Amount: 4321, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230100"}, Description: "Two smoothies", Reference: "order-9", Customer: s.customer,
		}))(b).ID
		must.Do(b, s.Drain(b.Context()))
	}
	benchbase.Call{Path: path, Insert: []string{"payments", "events", "events", "webhook_deliveries"}}.Fill(b, payments)
	s.db = must.Get(sql.Open("sqlite", path))(b)
	b.Cleanup(func() { _ = s.db.Close() })
	must.Get(s.db.ExecContext(b.Context(), "UPDATE webhook_deliveries SET due = NULL WHERE due IS NOT NULL"))(b) // all are delivered
	return s
}

// show builds a page.
func (s *busy) show(b *testing.B, page string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/"+s.Caller.Merchant+"/"+page, nil)
	r.Host = "localhost"
	s.look.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatalf("%s: %d\n%s", page, w.Code, w.Body)
	}
}

// bare runs queries for the documents that a page shows. A row of the first is the argument of the
// others.
func (s *busy) bare(b *testing.B, queries []string) {
	read := func(query string, arguments ...any) (ids []any) {
		rows := must.Get(s.db.QueryContext(b.Context(), query, arguments...))(b)
		defer rows.Close()
		for rows.Next() {
			var id string
			var data []byte
			must.Do(b, rows.Scan(&id, &data))
			ids = append(ids, id)
		}
		must.Do(b, rows.Err())
		return ids
	}
	for _, query := range queries {
		each := strings.Split(query, " -> ")
		for _, id := range read(each[0], s.Caller.Merchant) {
			for _, further := range each[1:] {
				read(further, s.Caller.Merchant, id)
			}
		}
	}
}

// BenchmarkPages times pages of a shop with many payments. of-small is the time beside that of a shop
// with a thousand payments, and of-bare that beside queries alone of the rows that the page reads, on
// another connection.
//
//	PAYMENTS_TEST_ROWS=1000000 go test -C bench . -run '^$' -bench Pages -benchtime 100x -timeout 60m
func BenchmarkPages(b *testing.B) {
	payments := 2000
	if text := os.Getenv("PAYMENTS_TEST_ROWS"); text != "" {
		payments = must.Get(strconv.Atoi(text))(b)
	}
	small, large := openBusy(b, 1000), openBusy(b, payments)
	const (
		newest     = "SELECT id, data FROM %s WHERE merchant = ? AND live = 0 %s ORDER BY id DESC LIMIT 26"
		deliveries = "SELECT id, data FROM webhook_deliveries WHERE merchant = ? AND live = 0 AND event = ? ORDER BY id DESC LIMIT 11"
	)
	first := must.Get(large.Events.List(b.Context(), large.Caller, event.ListParams{Type: event.PaymentSucceeded, Page: api.Page{Limit: 1}}))(b).Data[0].ID
	for _, p := range []struct {
		name string
		page func(*busy) string
		bare func(*busy) []string
	}{
		{"overview", func(*busy) string { return "" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", ""), fmt.Sprintf(newest, "events", "") + " -> " + deliveries, fmt.Sprintf(newest, "webhook_deliveries", ""), "SELECT id, data FROM daily_totals WHERE merchant = ? AND live = 0"}
		}},
		{"payments", func(*busy) string { return "payments" }, func(*busy) []string { return []string{fmt.Sprintf(newest, "payments", "")} }},
		{"payments-deep", func(s *busy) string { return "payments?after=pay_0000000000000000900" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND id < 'pay_0000000000000000900'")}
		}},
		{"payments-failed", func(*busy) string { return "payments?status=failed" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND status = 'failed'")}
		}},
		{"payments-month", func(*busy) string { return "payments?status=completed&period=30days" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND status = 'completed' AND created >= "+strconv.FormatInt(time.Now().AddDate(0, 0, -30).UnixMilli(), 10))}
		}},
		{"payments-network", func(*busy) string { return "payments?network=telecel" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND provider = 'telecel'")}
		}},
		{"payments-amount", func(*busy) string { return "payments?q=43.21" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND amount = 4321")}
		}},
		{"payments-name", func(*busy) string { return "payments?q=Kojo" }, func(s *busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND customer = '"+s.customer+"'")}
		}},
		{"payment", func(s *busy) string { return "payments/" + s.payment }, func(s *busy) []string {
			return []string{"SELECT id, data FROM payments WHERE merchant = ? AND live = 0 AND id = '" + s.payment + "'"}
		}},
		{"customer", func(s *busy) string { return "customers/" + s.customer }, func(s *busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND customer = '"+s.customer+"'")}
		}},
		{"events", func(*busy) string { return "events" }, func(*busy) []string { return []string{fmt.Sprintf(newest, "events", "") + " -> " + deliveries} }},
		{"events-type", func(*busy) string { return "events?type=payment.succeeded" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "events", "AND type = 'payment.succeeded'") + " -> " + deliveries}
		}},
		{"event", func(*busy) string { return "events/" + first }, func(*busy) []string {
			return []string{"SELECT id, data FROM events WHERE merchant = ? AND live = 0 AND id = '" + first + "' -> " + deliveries}
		}},
		{"webhook", func(s *busy) string { return "webhooks/" + s.endpoint }, func(s *busy) []string {
			return []string{fmt.Sprintf(newest, "webhook_deliveries", "AND endpoint = '"+s.endpoint+"'")}
		}},
		{"ledger", func(*busy) string { return "ledger" }, func(*busy) []string { return nil }},
		{"messages", func(*busy) string { return "messages" }, func(*busy) []string { return []string{fmt.Sprintf(newest, "messages", "")} }},
		{"search", func(*busy) string { return "search?q=order-9" }, func(*busy) []string {
			return []string{fmt.Sprintf(newest, "payments", "AND reference = 'order-9'")}
		}},
	} {
		b.Run(p.name, func(b *testing.B) {
			var page, few, bare time.Duration
			took := func(do func()) time.Duration {
				begun := time.Now()
				do()
				return time.Since(begun)
			}
			for range b.N {
				page += took(func() { large.show(b, p.page(large)) })
				if p.name != "event" {
					few += took(func() { small.show(b, p.page(small)) })
				}
				bare += took(func() { large.bare(b, p.bare(large)) })
			}
			b.ReportMetric(float64(page)/float64(b.N)/1e6, "ms/page")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(bare)/float64(b.N)/1e6, "ms/bare")
			b.ReportMetric(page.Seconds()/max(few.Seconds(), 1e-9), "of-small")
		})
	}
}
