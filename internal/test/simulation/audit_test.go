package simulation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

func (g *game) paymentsOf(c api.Caller) []payment.Payment {
	return testkit.All(api.All(g.t.Context(), c, payment.ListParams{}, g.svc.Payments.List))
}

func (g *game) transfersOf(c api.Caller) []payout.Transfer {
	ctx, all := g.t.Context(), payout.ListParams{}
	return append(testkit.All(api.All(ctx, c, all, g.svc.Payouts.List)), testkit.All(api.All(ctx, c, all, g.svc.Disbursements.List))...)
}

func (g *game) invoicesOf(c api.Caller) []invoice.Invoice {
	return testkit.All(api.All(g.t.Context(), c, invoice.ListParams{}, g.svc.Invoices.List))
}

func (g *game) codesOf(c api.Caller) []qrcode.QRCode {
	return testkit.All(api.All(g.t.Context(), c, qrcode.ListParams{}, g.svc.QRCodes.List))
}

func (g *game) eventsOf(c api.Caller) []event.Event {
	return testkit.All(api.All(g.t.Context(), c, event.ListParams{}, g.svc.Events.List))
}

func pesewas(a api.GHS) int64 { return a.Shift(2).IntPart() }

// sameIDs compares what exists with what was acknowledged.
func (g *game) sameIDs(what string, acknowledged []string, found []string) {
	g.t.Helper()
	acknowledged, found = slices.Clone(acknowledged), slices.Clone(found)
	slices.Sort(acknowledged)
	slices.Sort(found)
	expect.True(g.t, slices.Equal(acknowledged, found), "%s: %v were acknowledged, %v exist", what, acknowledged, found)
}

func (g *game) balanceOf(a ledger.Account) (amount int64) {
	must.Do(g.t, g.store.View(g.t.Context(), func(tx storage.ReadTx) error {
		b, err := tx.Balance(a.Name)
		amount = b.Amount
		return err
	}))
	return amount
}

// audit checks what must hold at any time.
func (g *game) audit() {
	g.t.Helper()
	for _, problem := range g.world.problems {
		g.t.Error(problem)
	}
	v := must.Get(g.svc.Accounts.Verify(g.t.Context()))(g.t)
	late := 0
	for _, p := range v.Problems {
		if strings.Contains(p, "entries have no seal") {
			late++ // the game lets days pass in which no worker runs
			continue
		}
		g.t.Error(p)
	}
	expect.Equal(g.t, late > 0, (v.Overdue > 0), "%d entries are overdue: %q", v.Overdue, v.Problems)
	for i, s := range g.sides {
		events := g.eventsOf(s.caller)
		g.bookKeeping(s, events)
		g.auditSide(s)
		g.told(s, events, false)
		g.auditPrompts(s, events)
		if i == 0 {
			g.auditHooks(events, false)
		}
	}
}

// objectOf returns the id of what an event is about.
func objectOf(e event.Event) string {
	var object struct{ ID string }
	check(json.Unmarshal(e.Data.Object, &object))
	return object.ID
}

func (g *game) auditSide(s *side) {
	g.t.Helper()
	available, reserved, wallets, charged, railed := s.funded+s.adjusted, int64(0), s.walletsFunded, int64(0), int64(0)

	ofCode, ofInvoice := map[string]int64{}, map[string]int64{}
	var scanned []string
	fees := int64(0)
	paidToUs, twice := g.paymentsOf(s.caller), g.givenBack(s)
	billed := g.invoicesOf(s.caller)
	g.adopt(s)
	redeemed := g.auditSessions(s, paidToUs, billed, g.auditPhones(s, paidToUs, twice))
	for _, p := range paidToUs {
		if p.QRCode != nil {
			scanned = append(scanned, p.ID)
		}
		if p.Status != payment.Completed {
			continue
		}
		available += *p.Net
		fees += *p.Fee
		if p.PaymentMethod == payment.ServiceWallet {
			wallets -= p.Amount
		} else {
			charged += p.Amount
		}
		switch {
		case twice[p.ID] != nil:
		case p.QRCode != nil:
			ofCode[*p.QRCode]++
		case p.Invoice != nil:
			ofInvoice[*p.Invoice] += p.Amount + 1 // so that an invoice of nothing counts
		}
	}
	g.sameIDs("payments of codes", s.payments, scanned)
	back := g.auditRefunds(s, paidToUs)
	available -= back.wallets + back.charger + back.reserved
	reserved += back.reserved
	wallets += back.wallets
	charged -= back.charger

	var codes, kept []string
	for _, q := range g.codesOf(s.caller) {
		codes = append(codes, q.ID)
		if q.UsageCount != ofCode[q.ID] || q.UsageLimit != nil && q.UsageCount > *q.UsageLimit {
			g.t.Errorf("%s was paid %d times, and says %d of %v", q.ID, ofCode[q.ID], q.UsageCount, q.UsageLimit)
		}
	}
	for _, id := range s.codes {
		if !s.gone[id] {
			kept = append(kept, id)
		}
	}
	g.sameIDs("codes", kept, codes)

	var transfers []string
	for _, is := range g.transfersOf(s.caller) {
		transfers = append(transfers, is.ID)
		amount, fee, moved := pesewas(is.Amount), pesewas(is.Fee), 0
		if o := g.world.orders[is.ID]; o != nil {
			if moved = o.moved; o.amount != amount {
				g.t.Errorf("%s is of %d, and the rail was told %d", is.ID, amount, o.amount)
			}
		}
		switch is.Status {
		case payout.Pending, payout.Processing:
			reserved += amount + fee
			available -= amount + fee
			expect.True(g.t, is.Status != payout.Pending || moved <= 0, "%s is pending and has moved", is.ID)
		case payout.Completed, payout.Succeeded:
			available -= amount + fee
			if is.Destination.Type == payout.ServiceWallet {
				wallets += amount
				continue
			}
			railed += amount
			fees += fee
			expect.Equal(g.t, moved, 1, "%s is %s and has moved %d times", is.ID, is.Status, moved)
		default:
			expect.Equal(g.t, moved, 0, "%s is %s and has moved", is.ID, is.Status)
		}
	}
	g.sameIDs("transfers", append(g.auditBatches(s), s.transfers...), transfers)

	var invoices []string
	numbers := map[string]int{}
	g.auditSubscriptions(s, billed)
	for _, i := range billed {
		if i.Subscription == nil {
			invoices = append(invoices, i.ID)
		}
		numbers[i.Number]++
		paid := ofInvoice[i.ID]
		back := int64(0)
		for _, p := range paidToUs {
			if i.Payment != nil && p.ID == *i.Payment {
				back = p.AmountRefunded
			}
		}
		expect.True(g.t, i.AmountRefunded <= back, "%s shows %d refunded, and of its payment are %d", i.ID, i.AmountRefunded, back)
		if i.Total == 0 && paid == 0 { // one of which nothing is due is paid without a payment
			continue
		}
		expect.Equal(g.t, i.Status == invoice.Paid, paid > 0, "%s is %s, of %d, for which %d were paid: it is paid", i.ID, i.Status, i.Total, paid-1)
		if paid > 0 {
			expect.Equal(g.t, paid-1, i.Total, "what was paid for %s", i.ID)
			expect.Equal(g.t, i.AmountPaid, i.Total, "the amount paid of %s", i.ID)
		}
	}
	g.sameIDs("invoices", s.invoices, invoices)
	g.numbered("invoices", numbers)
	g.auditCoupons(s, redeemed)
	g.auditPeople(s, false)

	testkit.CheckTotals(g.t, g.svc, s.caller)

	merchant, live := s.caller.Merchant, s.caller.Live
	inWallets := int64(0)
	for _, id := range s.consumers {
		inWallets += g.balanceOf(ledger.Wallet(id, live))
	}
	for _, b := range []struct {
		what      string
		has, want int64
	}{
		{"available", g.balanceOf(ledger.Available(merchant, live)) + g.auditDebt(s), available},
		{"reserved", g.balanceOf(ledger.Reserved(merchant, live)), reserved},
		{"wallets", inWallets, wallets},
		{"the rail", g.balanceOf(ledger.Clearing("rail", live)), railed},
		{"fees", g.balanceOf(ledger.Fees(live)), fees},
		{"the charger", g.balanceOf(ledger.Clearing("charges", live)), -charged},
	} {
		expect.Equal(g.t, b.has, b.want, "live %t: %s", live, b.what)
	}
	g.history = append(g.history, fmt.Sprintf("live=%t available %d reserved %d wallets %d", live, available, reserved, wallets))
}

// finish lets the world decide everything and answer every question, and the
// workers find out.
func (g *game) finish() {
	g.world.mu.Lock()
	g.world.calm = true
	g.world.mu.Unlock()
	g.revive()
	must.Do(g.t, g.svc.Drain(g.t.Context()))
	g.calmSince = g.now
	g.now = g.now.Truncate(24 * time.Hour).Add(36 * time.Hour) // phones are asked by day
	for days := range 14 {
		if days == 2 {
			g.now = g.now.Add(2 * time.Hour) // a renewal waits an hour for a charge of an earlier time
			must.Do(g.t, g.svc.Drain(g.t.Context()))
			g.finishSubscriptions()
		}
		if days == 7 { // staff look at what was reported until now
			for _, s := range g.sides {
				g.decide(s)
			}
		}
		g.now = g.now.Add(24 * time.Hour)
		g.callBack()
		must.Do(g.t, g.svc.Drain(g.t.Context()))
	}
	g.audit()
	charged := int64(0)
	for _, s := range g.sides {
		expect.Equal(g.t, g.balanceOf(ledger.Reserved(s.caller.Merchant, s.caller.Live)), 0, "pesewas stay reserved")
		charged -= g.balanceOf(ledger.Clearing("charges", s.caller.Live))
		g.told(s, g.eventsOf(s.caller), true)
		g.auditPeople(s, true)
		g.finishSessions(s)
		for _, b := range g.batchesOf(s.caller) {
			expect.Equal(g.t, b.Status, disbursement.BatchCompleted, "%s stays", b.ID)
		}
	}
	unbooked := g.finishPhones()
	if moved := g.world.moved("att_") + g.world.moved("pay_") - g.world.moved("re_") - g.world.takenBack(); charged+unbooked != moved {
		g.t.Errorf("the charger took %d, less what it gave back, %d were booked, and %d are listed", moved, charged, unbooked)
	}
	g.auditHooks(g.eventsOf(g.sides[0].caller), true)
	sealed := must.Get(g.svc.Accounts.Verify(g.t.Context()))(g.t)
	expect.Equal(g.t, sealed.Sealed, sealed.Entries, "of %d entries, %d are sealed", sealed.Entries, sealed.Sealed)
}

// told checks that every status was told once and in order.
func (g *game) told(s *side, events []event.Event, ended bool) {
	g.t.Helper()
	facts, ofInvoice := map[string][]string{}, map[string][]event.Event{}
	for _, e := range slices.Backward(events) { // the oldest first
		noun, fact, _ := strings.Cut(string(e.Type), ".")
		id := objectOf(e)
		facts[id] = append(facts[id], fact)
		if noun == "invoice" {
			ofInvoice[id] = append(ofInvoice[id], e)
		}
	}
	was := func(id string, status any, want string) {
		expect.Equal(g.t, strings.Join(facts[id], " "), want, "%s is %s, and told", id, status)
	}
	for _, is := range g.transfersOf(s.caller) {
		want := "created pending processing completed"
		switch {
		case is.Destination.Type == payout.ServiceWallet:
			want = "created completed"
		case is.Status == payout.Pending:
			want = "created pending"
		case is.Status == payout.Processing:
			want = "created pending processing"
		case is.Status == payout.Failed:
			want = transferEvents(&is)
		case is.Status == payout.Cancelled:
			want = "created pending canceled"
		}
		was(is.ID, is.Status, want)
	}
	g.toldOfPayments(s, events, was)
	g.toldOfSubscriptions(s, events, g.invoicesOf(s.caller), ended)
	g.toldOfSessions(s, was)
	for _, r := range g.refundsOf(s.caller) {
		want := "created"
		if r.Status == refund.Succeeded || r.Status == refund.Failed {
			want += " " + string(r.Status)
		}
		was(r.ID, r.Status, want)
	}
	for _, b := range g.batchesOf(s.caller) {
		want := "created"
		if b.Status == disbursement.BatchCompleted {
			want += " completed"
		}
		was(b.ID, b.Status, want)
	}
	for _, p := range s.people {
		got, end := facts[p.id], 1
		if p.deleted {
			end = 2
		}
		if len(got) < end || got[0] != "created" || (got[len(got)-1] == "deleted") != p.deleted {
			g.t.Errorf("%s, deleted %t, was told %v", p.id, p.deleted, got)
			continue
		}
		for _, fact := range got[1 : len(got)-end+1] {
			expect.Equal(g.t, fact, "updated", "%s, deleted %t, was told %v", p.id, p.deleted, got)
		}
	}
	for _, i := range g.invoicesOf(s.caller) {
		paid := 0
		for _, fact := range facts[i.ID] {
			if fact == "paid" {
				paid++
			}
		}
		if (paid == 1) != (i.Status == invoice.Paid) || paid > 1 {
			g.t.Errorf("%s is %s, and told %v", i.ID, i.Status, facts[i.ID])
		}
		g.auditReminders(&i, ofInvoice[i.ID], ended)
	}
}
