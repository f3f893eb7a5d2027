package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// operation is what one client did, as it saw it.
type operation struct {
	began, ended time.Time
	id           string // of what a write made
	refused      bool   // for want of money
	amount       decimal.Decimal
	balance      decimal.Decimal // what a read saw
	read         bool
}

// TestBank has 32 clients move money out of and into one balance over HTTP, and
// read it, and checks what they saw against the history, in the manner of Jepsen.
// The statement says in which order the writes happened. Then every write must
// stand after all that were acknowledged before it began; every read must have
// seen the balance at a point after all that was acknowledged before it began,
// before all that began after it ended, and after what earlier reads had seen; and
// a refused client met a point at which the money did not suffice.
func TestBank(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		const clients, turns = 32, 25
		// From a thousand down to forty, so that the money runs out now and then.
		s.Do("POST", "/v1/disbursements", fmt.Sprintf(`{"amount":960,"destination":{"type":"service_wallet","account_id":%q}}`, s.Consumer.ID))
		begin := balanceNow(t, s)

		var mu sync.Mutex
		var history []operation
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() {
				dice := rand.New(rand.NewPCG(11, uint64(client)))
				for range turns {
					o := operation{began: time.Now()}
					switch turn := dice.IntN(10); {
					case turn < 4:
						_, data := s.Do("GET", "/v1/balance", nil)
						o.read, o.balance = true, available(t, data)
					default:
						o.amount = decimal.New(1+dice.Int64N(20_00), -2)
						path, body := "/v1/disbursements", fmt.Sprintf(`{"amount":%s,"destination":{"type":"service_wallet","account_id":%q}}`, o.amount, s.Consumer.ID)
						if turn < 7 {
							path, body = "/v1/test_helpers/balance", fmt.Sprintf(`{"amount":%s}`, o.amount)
						}
						response, data := s.Do("POST", path, body)
						switch {
						case response.StatusCode == 200 && turn >= 7:
							o.id = field(t, data, "id")
						case response.StatusCode == 200: // a deposit is in the answer's balance, and a read as well
							o.read, o.balance = true, available(t, data)
						case response.StatusCode == 402 && field(t, data, "error.code") == "insufficient_balance":
							o.refused = true
						default:
							t.Errorf("%s: %d %s", path, response.StatusCode, data)
						}
					}
					o.ended = time.Now()
					mu.Lock()
					history = append(history, o)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		judge(t, s, begin, history)
		verified(t, s)
	})
}

func available(t *testing.T, body []byte) decimal.Decimal {
	t.Helper()
	var b struct{ Available json.Number }
	must.Do(t, json.Unmarshal(body, &b))
	return must.Get(decimal.NewFromString(b.Available.String()))(t)
}

func balanceNow(t *testing.T, s *paymentstest.Shop) decimal.Decimal {
	t.Helper()
	_, data := s.Do("GET", "/v1/balance", nil)
	return available(t, data)
}

// judge checks a history against the statement.
func judge(t *testing.T, s *paymentstest.Shop, begin decimal.Decimal, history []operation) {
	t.Helper()
	// points are the balances after each entry, oldest first; at tells which a write made.
	points, at := []decimal.Decimal{begin}, map[string]int{}
	page := api.Page{Limit: api.MaxLimit}
	var newestFirst []struct {
		source          string
		balance, amount decimal.Decimal
	}
	for {
		list := must.Get(s.Accounts.ListEntries(t.Context(), s.Caller, account.ListEntriesParams{Page: page}))(t)
		for _, e := range list.Data {
			newestFirst = append(newestFirst, struct {
				source          string
				balance, amount decimal.Decimal
			}{e.Source, e.Balance.Decimal, e.Amount.Decimal})
		}
		if !list.HasMore {
			break
		}
		page.StartingAfter = list.Data[len(list.Data)-1].ID
	}
	const before = 2 // what the shop began with, and what was sent away at first
	for i := len(newestFirst) - 1 - before; i >= 0; i-- {
		e := newestFirst[i]
		if want := points[len(points)-1].Add(e.amount); !e.balance.Equal(want) || e.balance.IsNegative() {
			t.Errorf("entry %d leaves %s, want %s", len(points), e.balance, want)
		}
		if strings.HasPrefix(e.source, "po_") {
			at[e.source] = len(points)
		}
		points = append(points, e.balance)
	}

	writes, refusals, reads := 0, 0, 0
	// floor and ceiling bound the points that an operation may have seen.
	floor := func(o *operation) int {
		low := 0
		for i := range history {
			if w := &history[i]; w.id != "" && w.ended.Before(o.began) {
				low = max(low, at[w.id])
			}
		}
		return low
	}
	ceiling := func(o *operation) int {
		high := len(points) - 1
		for i := range history {
			if w := &history[i]; w.id != "" && w.began.After(o.ended) {
				high = min(high, at[w.id]-1)
			}
		}
		return high
	}
	seen := make([]int, len(history)) // the earliest point that a read can have seen
	for i := range history {
		o := &history[i]
		low, high := floor(o), ceiling(o)
		switch {
		case o.id != "":
			writes++
			expect.True(t, at[o.id] != 0, "%s was acknowledged, and is not in the statement", o.id)
			if at[o.id] <= low {
				t.Errorf("%s stands at %d, though %d was acknowledged before it began", o.id, at[o.id], low)
			}
		case o.refused:
			refusals++
			found := false
			for p := low; p <= high; p++ {
				found = found || points[p].LessThan(o.amount)
			}
			expect.True(t, found, "%s was refused, and between %d and %d there was enough", o.amount, low, high)
		case o.read:
			reads++
			// What an earlier read had seen is not unseen. History is in the order of ends.
			for j := range i {
				if r := &history[j]; r.read && r.ended.Before(o.began) {
					low = max(low, seen[j])
				}
			}
			seen[i] = -1
			for p := low; p <= high && seen[i] < 0; p++ {
				if points[p].Equal(o.balance) {
					seen[i] = p
				}
			}
			expect.True(t, seen[i] >= 0, "a read saw %s, which the balance was at no point from %d to %d", o.balance, low, high)
		}
	}
	expect.True(t, writes != 0, "%d writes, %d refusals and %d reads prove little", writes, refusals, reads)
	expect.True(t, refusals != 0, "%d writes, %d refusals and %d reads prove little", writes, refusals, reads)
	expect.True(t, reads != 0, "%d writes, %d refusals and %d reads prove little", writes, refusals, reads)
	t.Logf("%d writes, %d refusals, %d reads", writes, refusals, reads)
}
