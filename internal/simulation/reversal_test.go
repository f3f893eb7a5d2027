package simulation_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// What providers take back after they have paid.

// takenBack is the reason of the refunds that providers made.
const takenBack = "Reversed by the provider"

// takeBack has the provider take back a transfer or the charge of a phone that was paid, a moment or
// weeks ago, and report that once or twice.
func (g *game) takeBack(s *side) {
	var ids []string
	for _, t := range g.transfersOf(s.caller) {
		if (t.Status == payout.Completed || t.Status == payout.Succeeded) && t.Destination.Type != payout.ServiceWallet {
			ids = append(ids, t.ID)
		}
	}
	var refunded []string
	twice := g.givenBack(s)
	for _, p := range g.paymentsOf(s.caller) {
		if p.PaymentMethod != payment.FromPhone || p.Status != payment.Completed || twice[p.ID] != nil || g.world.orders[p.ID].reversed {
			continue
		}
		if ids = append(ids, p.ID); p.AmountRefunded > 0 {
			refunded = append(refunded, p.ID)
		}
	}
	if len(refunded) > 0 && g.dice.IntN(2) == 0 {
		ids = refunded
	}
	id := pick(g, ids)
	if id == "" {
		return
	}
	if all := g.balanceOf(ledger.Available(s.caller.Merchant, s.caller.Live)); all > 0 && g.dice.IntN(2) == 0 { // so that it covers nothing
		g.disburseTo(s, all, payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.consumers[1]})
	}
	o, what := g.world.orders[id], "take back transfer"
	if o.reversed = true; strings.HasPrefix(id, "po_") {
		o.moved--
	} else if what = "take back payment"; must.Get(g.svc.Payments.Get(g.t.Context(), s.caller, id))(g.t).AmountRefunded > 0 {
		what = "take back refunded payment"
		s.disputed = append(s.disputed, id)
	}
	g.played[what]++
	for again := true; again; again = g.dice.IntN(3) == 0 {
		g.fault()
		err := g.svc.Providers.Notify(g.t.Context(), id, provider.Result{Outcome: provider.Reversed})
		if g.store.Heal() {
			g.faults++
		}
		if errors.Is(err, faultstore.Err) {
			err = g.svc.Providers.Notify(g.t.Context(), id, provider.Result{Outcome: provider.Reversed})
		}
		expect.NoError(g.t, err, "%s %s", what, id)
	}
	g.history = append(g.history, fmt.Sprint(what, " ", id))
}

// auditDebt checks what a merchant owes, and returns it: a merchant that owes has nothing available, and
// no balance is negative.
func (g *game) auditDebt(s *side) int64 {
	g.t.Helper()
	available := g.balanceOf(ledger.Available(s.caller.Merchant, s.caller.Live))
	owed := g.balanceOf(ledger.Owed(s.caller.Merchant, s.caller.Live))
	expect.True(g.t, available >= 0 && owed <= 0 && (owed == 0 || available == 0), "%s has %d available, and %d of a debt", s.caller.Merchant, available, owed)
	if owed < 0 {
		g.played["owed"]++
	}
	return owed
}

// takenBack sums what the world has taken back of charges from phones, in pesewas: what no refund had
// given back in the end.
func (w *world) takenBack() (total int64) {
	for id, o := range w.orders {
		if o.reversed && strings.HasPrefix(id, "pay_") {
			total += o.amount - o.back
		}
	}
	return total
}

// transferEvents says by its events what a transfer that has failed was told to be.
func transferEvents(t *payout.Transfer) string {
	if strings.HasPrefix(*t.FailureReason, "reversed: ") {
		return "created pending processing completed failed"
	}
	return "created pending processing failed"
}
