package paystack_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
)

// "Fully reversed" may tell of an earlier request for the same refund, whose answer got lost and
// which no list shows yet. Then it ends nothing.
func TestFullyReversedByItself(t *testing.T) {
	client := clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(`[]`),
		"POST /refund": rejection("Transaction has been fully reversed"),
	})
	for attempts, want := range map[int]provider.Outcome{1: provider.Refused, 2: "", 4: ""} {
		back := newRefund(newCharge("67"), 435)
		back.Order = later(back.Order, attempts, time.Duration(attempts-1)*time.Hour)
		r, err := client.Refund(t.Context(), back)
		expect.True(t, r.Outcome == want && (err != nil) == (want == ""), "attempt %d: %+v, %v", attempts, r, err)
	}
}

// Of several refunds with the same note, the one that was paid counts, then one that is open. Two
// that were paid are for a person to look at.
func TestRefundsWithOneNote(t *testing.T) {
	charge := newCharge("67")
	back, other := newRefund(charge, 100), newRefund(charge, 100)
	for statuses, want := range map[string]provider.Outcome{
		"failed processed":            provider.Paid,
		"failed pending":              provider.InProgress,
		"pending processed failed":    provider.Paid,
		"processed pending":           provider.Paid,
		"failed failed":               provider.Refused,
		"processed failed processed":  "",
		"processed pending processed": "",
	} {
		var rows []string
		for i, status := range strings.Fields(statuses) {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"status":%q,"amount":100,"merchant_note":%q,"transaction":17}`, i+1, status, back.ID))
		}
		rows = append(rows, fmt.Sprintf(`{"id":9,"status":"processed","amount":100,"merchant_note":%q,"transaction":17}`, other.ID))
		one := `{"id":17,"status":"success","amount":435}`
		filtered := clientOf(t, stub{"GET /transaction/verify/*": succeeds(one), "GET /refund": succeeds("[" + strings.Join(rows, ",") + "]")})
		all := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := stub{"GET /transaction/verify/*": succeeds(one), "GET /refund": succeeds("[" + strings.Join(rows, ",") + "]")}
			if r.URL.Query().Get("transaction") != "" {
				s["GET /refund"] = succeeds(`[]`)
			}
			s.ServeHTTP(w, r)
		}))
		again := back
		again.Order = later(back.Order, 2, time.Hour)
		for name, client := range map[string]*paystack.Client{"the list of the charge": filtered, "the list of all": all} {
			r, err := client.RefundStatus(t.Context(), again)
			expect.True(t, r.Outcome == want && (err != nil) == (want == ""), "%s in %s: %+v, %v", statuses, name, r, err)
		}

		// A webhook names the charge alone.
		told := &notes{}
		body := `{"event":"refund.processed","data":{"transaction_reference":"` + referenceOf(t, charge.ID) + `"}}`
		status := post(t, filtered.WebhookHandler(told.notify), body, signed(body))
		final := 1 // the other refund
		if want.Final() {
			final++
		}
		expect.True(t, len(told.ids) == final && (status == 503) == (want == ""), "an event with %s: %d, %v", statuses, status, told.ids)
	}
}

// A list goes on until a page has no new row: a page may be shorter than asked for, or come again.
func TestRefundsInPages(t *testing.T) {
	charge := newCharge("67")
	back := newRefund(charge, 100)
	ours := `{"id":3,"status":"processed","amount":100,"merchant_note":"` + back.ID + `","transaction":17}`
	for name, pages := range map[string][]string{
		"short pages":       {`{"id":1,"status":"failed","transaction":17}`, `{"id":2,"status":"failed","transaction":17}`, ours, ``},
		"overlapping pages": {`{"id":1,"status":"failed","transaction":17}`, `{"id":1,"status":"failed","transaction":17},` + ours, ours},
	} {
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/refund" {
				stub{"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`)}.ServeHTTP(w, r)
				return
			}
			page := 0
			_, err := fmt.Sscan(r.URL.Query().Get("page"), &page)
			must.True(t, err == nil && page <= len(pages), "%s: page %d", name, page)
			_, _ = io.WriteString(w, `{"status":true,"data":[`+pages[page-1]+`]}`)
		}))
		r, err := client.RefundStatus(t.Context(), back)
		expect.True(t, err == nil && r.Outcome == provider.Paid && r.Reference == "3", "%s: %+v, %v", name, r, err)
	}
	for _, rows := range []string{`null`, `[{"status":"processed","amount":100,"transaction":17}]`} {
		client := clientOf(t, stub{"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(rows)})
		r, err := client.RefundStatus(t.Context(), back)
		expect.True(t, err != nil, "the list %s: %+v", rows, r)
	}
}
