package mtnmomo_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds TestChaos runs")
	from  = flag.Uint64("from", 0, "the first seed of TestChaos")
)

func newClient(t testing.TB, r *rig) *mtnmomo.Client {
	t.Helper()
	return must.Get(mtnmomo.New(r.config))(t)
}

// tracked is an order as the library tracks it.
type tracked struct {
	provider.Order
	submit, status func(context.Context, provider.Order) (provider.Result, error)
	outcome        provider.Outcome // "" until it is known
}

// With all faults at once money moves at most once for an id, and what the client reports in the
// end is what happened. Reports never contradict each other.
func TestChaos(t *testing.T) {
	totals := map[string]int{}
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		must.True(t, !t.Failed(), "seed %d failed", seed-1)
		chaos(t, seed, totals)
	}
	t.Logf("%v", totals)
	for _, outcome := range []string{"po paid", "po refused", "pay paid", "pay refused", "re paid", "re refused", "by callback", "errors"} {
		expect.True(t, totals[outcome] > 0, "nothing is %s: %v", outcome, totals)
	}
}

func chaos(t *testing.T, seed uint64, totals map[string]int) {
	r, dice := newRig(t, seed), rand.New(rand.NewPCG(seed, 7))
	percent := func() int { return dice.IntN(30) * dice.IntN(2) }
	r.SetFaults(mtnmomotest.Faults{
		LostRequest: percent(), LostAnswer: percent(), Doubled: percent(), Late: percent() * 2, Hidden: percent() * 2, TooMany: percent(),
		BadToken: percent(), NoCallback: percent(), TwoCallbacks: percent(), EarlyCallback: percent() * 2, ForgedCallback: percent() * 2,
	})
	if dice.IntN(5) == 0 {
		r.SetFloat(1000) // empty soon
	}
	began := time.Now()
	now := began
	r.config.Now = func() time.Time { return now }
	r.SetClock(r.config.Now)
	if dice.IntN(2) == 0 {
		r.config.CallbackURL = ""
	}
	r.client = newClient(t, r)

	all := map[string]*tracked{}
	var ids []string
	add := func(o provider.Order, submit, status func(context.Context, provider.Order) (provider.Result, error)) {
		o.CreatedAt, o.SubmittedAt, o.Now, o.Attempts = now, now, now, 0
		all[o.ID] = &tracked{Order: o, submit: submit, status: status}
		ids = append(ids, o.ID)
	}
	book := func(how, id string, got provider.Result) {
		o := all[id]
		if o == nil {
			t.Errorf("seed %d: a report about %s, which is no order", seed, id)
			return
		}
		if got.Outcome != provider.Paid && got.Outcome != provider.Refused {
			return
		}
		expect.True(t, o.outcome == "" || o.outcome == got.Outcome, "seed %d: %s was %s, and %s reports %s", seed, id, o.outcome, how, got.Outcome)
		if o.outcome == "" {
			totals[how]++
		}
		o.outcome = got.Outcome
	}
	r.SetReceiver(r.client.WebhookHandler(func(_ context.Context, id string, got provider.Result) error {
		book("by callback", id, got)
		return nil
	}))
	lasts := []string{"567", "567", "568", "454", "451", "457", "455", "462", "470"}
	for range 4 {
		to := r.transfer(lasts[dice.IntN(len(lasts))])
		to.Amount = 1 + dice.Int64N(800)
		add(to.Order, func(ctx context.Context, o provider.Order) (provider.Result, error) {
			to.Order = o
			return r.client.Submit(ctx, to)
		}, func(ctx context.Context, o provider.Order) (provider.Result, error) {
			to.Order = o
			return r.client.Status(ctx, to)
		})
		from := r.charge(lasts[dice.IntN(len(lasts))])
		from.Amount = 1 + dice.Int64N(800)
		add(from.Order, func(ctx context.Context, o provider.Order) (provider.Result, error) {
			from.Order = o
			return r.client.Charge(ctx, from)
		}, func(ctx context.Context, o provider.Order) (provider.Result, error) {
			from.Order = o
			return r.client.ChargeStatus(ctx, from)
		})
	}
	refunded := map[string]bool{}
	// attempt is one attempt of the library: the first submits; a later one asks, and submits only
	// what MTN has never seen.
	attempt := func(o *tracked) {
		o.Attempts++
		o.Now = now
		do, again := o.status, true
		if o.Attempts == 1 {
			do, again = o.submit, false
			o.SubmittedAt = now
		}
		got, err := do(t.Context(), o.Order)
		if err == nil && got.Outcome == provider.NotFound {
			expect.True(t, again, "seed %d: a submission answers not found", seed)
			got, err = o.submit(t.Context(), o.Order)
		}
		if err != nil {
			totals["errors"]++
			r.discreet(t, err.Error(), "+233241234")
			return
		}
		book("by call", o.ID, got)
	}
	for round := range 40 {
		if round == 30 {
			r.Settle()
		}
		now = now.Add(time.Duration(1+dice.IntN(50)) * time.Second)
		for i := 0; i < len(ids); i++ {
			o := all[ids[i]]
			if o.outcome == "" || dice.IntN(10) == 0 && o.Attempts > 0 {
				attempt(o)
			}
			if o.outcome == provider.Paid && o.ID[:4] == "pay_" && !refunded[o.ID] {
				refunded[o.ID] = true
				back := provider.Refund{Order: r.order("re_", 1+dice.Int64N(o.Amount)), Charge: o.ID, Network: "mtn", Reason: "Broken"}
				add(back.Order, func(ctx context.Context, o provider.Order) (provider.Result, error) {
					back.Order = o
					return r.client.Refund(ctx, back)
				}, func(ctx context.Context, o provider.Order) (provider.Result, error) {
					back.Order = o
					return r.client.RefundStatus(ctx, back)
				})
			}
		}
		r.Deliver()
	}
	var float int64
	for _, id := range ids {
		o := all[id]
		want := map[provider.Outcome]int{provider.Paid: 1, provider.Refused: 0, "": -1}[o.outcome]
		expect.True(t, r.Moved(id) == want, "seed %d: %s is %q, and money moved %d times", seed, id, o.outcome, r.Moved(id))
		prefix, _, _ := strings.Cut(id, "_")
		totals[fmt.Sprint(prefix, " ", o.outcome)]++
		amount, _, _ := r.Received(id)
		expect.True(t, want < 1 || amount == o.Amount, "seed %d: %s of %d arrived as %d", seed, id, o.Amount, amount)
		if want == 1 && prefix != "pay" {
			float -= o.Amount
		}
	}
	for _, e := range r.Ledger() {
		if e.Kind != mtnmomotest.Charge {
			float -= e.Amount
		}
	}
	expect.Equal(t, float, 0, "seed %d: what the disbursement account paid too much", seed)
	r.discreet(t, r.log.String(), "+233241234")
}
