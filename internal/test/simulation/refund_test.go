package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// The refunds and batches of a simulation.

func (g *game) refund(s *side) {
	all := g.paymentsOf(s.caller)
	if g.dice.IntN(8) > 0 {
		all = slices.DeleteFunc(all, func(p payment.Payment) bool { return p.Status != payment.Completed })
	}
	if len(all) == 0 {
		return
	}
	paid := all[g.dice.IntN(len(all))]
	p := refund.CreateParams{Payment: paid.ID, Reason: []string{"", "It was broken."}[g.dice.IntN(2)]}
	if paid.Invoice != nil && g.dice.IntN(2) == 0 {
		p.Payment, p.Invoice = "", *paid.Invoice
	}
	if g.dice.IntN(3) > 0 {
		amount := 1 + g.dice.Int64N(max(paid.Amount, 1))
		p.Amount = &amount
	}
	g.keep(&s.refunds, "refund", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Refunds.Create(g.t.Context(), c, p))
	})
}

// refundedTo is where the money of refunds has gone, in pesewas.
type refundedTo struct {
	wallets, charger, reserved int64
}

func (g *game) refundsOf(c api.Caller) []refund.Refund {
	return testkit.All(api.All(g.t.Context(), c, refund.ListParams{}, g.svc.Refunds.List))
}

// auditRefunds compares refunds with their payments, with the world and, by the
// number of their credit notes, with one another.
func (g *game) auditRefunds(s *side, paid []payment.Payment) (to refundedTo) {
	g.t.Helper()
	var ids []string
	counted, notes := map[string]int64{}, map[string]int{}
	ofInvoice := map[string]bool{} // the payments that have paid an invoice
	for _, i := range g.invoicesOf(s.caller) {
		if i.Payment != nil {
			ofInvoice[*i.Payment] = true
		}
	}
	for _, r := range g.refundsOf(s.caller) {
		byProvider := r.Reason != nil && *r.Reason == takenBack
		if !byProvider && !automatic(&r) {
			ids = append(ids, r.ID)
		}
		moved := 0
		if o := g.world.orders[r.ID]; o != nil {
			if moved = o.moved; o.amount != r.Amount {
				g.t.Errorf("%s is of %d, and the charger was told %d", r.ID, r.Amount, o.amount)
			}
		}
		wallet, want := r.PaymentMethod == payment.ServiceWallet, -1
		switch r.Status {
		case refund.Failed:
			want = 0
		case refund.Succeeded:
			if want = 1; wallet {
				want = 0
				to.wallets += r.Amount
			} else {
				to.charger += r.Amount
			}
		case refund.Pending:
			to.reserved += r.Amount
			want = 0
		default:
			to.reserved += r.Amount
		}
		if byProvider {
			expect.True(g.t, g.world.orders[r.Payment].reversed, "%s says that %s was taken back, and it was not", r.ID, r.Payment)
			expect.Equal(g.t, r.Status, refund.Succeeded, "the status of %s of %s, which was taken back", r.ID, r.Payment)
			want = 0
		}
		expect.True(g.t, want < 0 || moved == want, "%s is %s and has moved %d times", r.ID, r.Status, moved)
		if !g.calmSince.IsZero() {
			g.played[fmt.Sprintf("%s refund, of a wallet %t", r.Status, wallet)]++
		}
		if r.Status != refund.Failed {
			counted[r.Payment] += r.Amount
		}
		expect.Equal(g.t, r.CreditNote != nil, ofInvoice[r.Payment] && r.Status == refund.Succeeded, "%s is %s, of the invoice %v, and has a credit note", r.ID, r.Status, r.Invoice)
		if r.CreditNote != nil {
			notes[*r.CreditNote]++
		}
	}
	g.sameIDs("refunds", s.refunds, ids)
	g.numbered("credit notes", notes)
	for _, p := range paid {
		if p.AmountRefunded != counted[p.ID] || p.AmountRefunded > p.Amount {
			g.t.Errorf("of %s, of %d, %d were refunded, and it says %d", p.ID, p.Amount, counted[p.ID], p.AmountRefunded)
		}
	}
	return to
}

// numbered checks that numbers such as INV-2026-000001 were given once each, in
// each year without a hole.
func (g *game) numbered(what string, numbers map[string]int) {
	g.t.Helper()
	years := map[string]int{}
	for n, times := range numbers {
		expect.Equal(g.t, times, 1, "%s: %s was given %d times", what, n, times)
		years[n[:strings.LastIndex(n, "-")]]++
	}
	for year, count := range years {
		for n := range count {
			if number := fmt.Sprintf("%s-%06d", year, n+1); numbers[number] == 0 {
				g.t.Errorf("%s: %s is missing in %v", what, number, numbers)
			}
		}
	}
}

// row is a row that was asked for, which another batch may ask for again.
func (g *game) row(s *side) disbursement.RowParams {
	if len(s.rows) > 0 && g.dice.IntN(4) == 0 {
		return s.rows[g.dice.IntN(len(s.rows))]
	}
	r := disbursement.RowParams{CreateParams: disbursement.CreateParams{
		Amount: decimal.New(1+g.dice.Int64N(60_00), -2), Destination: g.destination(s),
	}}
	if g.dice.IntN(2) == 0 {
		g.named++
		r.IdempotencyKey = fmt.Sprint("row-", g.named)
	}
	return r
}

// keyLife is how long a key stands for what it has made.
const keyLife = 30 * 24 * time.Hour

func (g *game) batch(s *side) {
	var p disbursement.CreateBatchParams
	keys := map[string]bool{}
	for range 1 + g.dice.IntN(5) {
		r := g.row(s)
		if r.IdempotencyKey != "" && keys[r.IdempotencyKey] {
			continue
		}
		keys[r.IdempotencyKey] = true
		p.Rows = append(p.Rows, r)
	}
	id, err := g.call("batch", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Disbursements.CreateBatch(g.t.Context(), c, p))
	})
	if err != nil {
		return
	}
	s.batches = append(s.batches, id)
	for _, r := range p.Rows {
		if r.IdempotencyKey != "" {
			s.rows = append(s.rows, r)
		}
	}
}

func (g *game) batchesOf(c api.Caller) []disbursement.Batch {
	return testkit.All(api.All(g.t.Context(), c, disbursement.ListBatchesParams{}, g.svc.Disbursements.ListBatches))
}

// auditBatches compares batches with their rows, and returns the disbursements that
// the rows have become.
func (g *game) auditBatches(s *side) (made []string) {
	g.t.Helper()
	var ids []string
	ofKey, known := map[string][]payout.Transfer{}, map[string]string{}
	for _, b := range g.batchesOf(s.caller) {
		ids = append(ids, b.ID)
		var counts disbursement.Counts
		rows := testkit.All(api.All(g.t.Context(), s.caller, disbursement.ListRowsParams{}, func(ctx context.Context, c api.Caller, p disbursement.ListRowsParams) (*api.List[disbursement.Row], error) {
			return g.svc.Disbursements.ListRows(ctx, c, b.ID, p)
		}))
		for i, r := range rows {
			expect.Equal(g.t, r.Number, i+1, "row %d of %s has the number", i+1, b.ID)
			counts.Total++
			if !g.calmSince.IsZero() {
				g.played[fmt.Sprint("row ", r.Status)]++
			}
			switch r.Status {
			case disbursement.RowQueued:
				counts.Queued++
			case disbursement.RowRefused:
				counts.Refused++
				switch r.Error.Code {
				case api.InsufficientBalance, api.WalletNotActive:
				default:
					g.t.Errorf("%s was refused: %s", r.ID, r.Error.Message)
				}
			case disbursement.RowMade:
				counts.Made++
				is := r.Disbursement
				expect.True(g.t, is.Amount.Equal(r.Amount.Decimal), "%s is of %s, and became %s of %s", r.ID, r.Amount, is.ID, is.Amount)
				key, before := known[is.ID]
				expect.True(g.t, !before || key == r.IdempotencyKey, "%s was made of the rows %s and %s", is.ID, key, r.IdempotencyKey)
				if known[is.ID] = r.IdempotencyKey; !before {
					made = append(made, is.ID)
					ofKey[r.IdempotencyKey] = append(ofKey[r.IdempotencyKey], *is)
				}
			}
		}
		expect.Equal(g.t, b.Counts, counts, "the counts of %s, beside its rows", b.ID)
		expect.Equal(g.t, b.Status == disbursement.BatchCompleted, counts.Queued == 0, "%s is %s, its rows are %+v, and it is completed", b.ID, b.Status, counts)
	}
	g.sameIDs("batches", s.batches, ids)
	for key, twice := range ofKey {
		for i := range twice[1:] {
			apart := twice[i].CreatedAt.Sub(twice[i+1].CreatedAt.Time).Abs()
			if apart < keyLife {
				g.t.Errorf("the row %s became %s and %s, %s apart", key, twice[i].ID, twice[i+1].ID, apart)
			}
		}
	}
	return made
}

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

// What staff decide.

// decide has staff decide an order that its provider has contradicted: they keep it as booked, or they book on
// the balance what the provider says, which leaves the payment as it is.
func (g *game) decide(s *side) {
	ctx := g.t.Context()
	list := must.Get(g.svc.Providers.List(ctx, s.caller, provider.ListParams{Contradicted: true, Page: api.Page{Limit: api.MaxLimit}}))(g.t)
	if len(list.Data) == 0 {
		return
	}
	o, what := list.Data[g.dice.IntN(len(list.Data))], "keep as booked"
	if o.Flow == provider.Charges && o.Reported == provider.Paid && g.dice.IntN(4) != 0 {
		what = "book as reported"
		_, err := g.call("adjust", s, func(c api.Caller) (string, error) {
			return o.ID, second(g.svc.Accounts.Adjust(ctx, c, account.AdjustParams{Amount: decimal.New(o.Amount, -2), Reason: o.Contradiction, Actor: "esi", Reference: o.Record}))
		})
		must.Do(g.t, err)
		s.adjusted += o.Amount
	}
	g.fault()
	err := g.svc.Providers.Resolve(ctx, o.ID)
	if g.store.Heal() {
		g.faults++
	}
	if errors.Is(err, faultstore.Err) { // it may have done it
		if err = g.svc.Providers.Resolve(ctx, o.ID); api.CodeOf(err) == api.ResourceMissing {
			err = nil
		}
	}
	expect.NoError(g.t, err, "resolve %s", o.ID)
	s.decided[o.ID] = true
	g.played[what]++
	g.history = append(g.history, fmt.Sprint(what, " ", o.ID, ": ", o.Contradiction))
}

// auditDebt checks what a merchant owes, and returns it: a merchant that owes has nothing available, and
// no balance is negative.
func (g *game) auditDebt(s *side) int64 {
	g.t.Helper()
	available := g.balanceOf(ledger.Available(s.caller.Merchant, s.caller.Live))
	owed := g.balanceOf(ledger.Owed(s.caller.Merchant, s.caller.Live))
	expect.True(g.t, available >= 0, "%s has %d available", s.caller.Merchant, available)
	expect.True(g.t, owed <= 0, "%s owes less than nothing: %d", s.caller.Merchant, owed)
	expect.True(g.t, owed == 0 || available == 0, "%s has %d available, and %d of a debt", s.caller.Merchant, available, owed)
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
