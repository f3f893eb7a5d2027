package gym_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/examples/gym"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
)

// open returns a gym on a payment service of its own, whose webhooks reach it.
func open(t *testing.T) (*paymentstest.Shop, *gym.Gym) {
	t.Helper()
	sandbox := paymentstest.New(t)
	g, err := gym.Open(t.Context(), sandbox.Service, sandbox.Caller)
	if err != nil {
		t.Fatal(err)
	}
	sandbox.Receive(func(secret string) http.Handler { return g.Webhooks(secret) })
	return sandbox, g
}

func join(t *testing.T, g *gym.Gym, card, phone string) string {
	t.Helper()
	member, err := g.Join(t.Context(), card, "Member "+card, phone)
	if err != nil {
		t.Fatal(err)
	}
	return member.ID
}

// bills are a member's invoices, the oldest first.
func bills(t *testing.T, sandbox *paymentstest.Shop, member string) (all []invoice.Invoice) {
	t.Helper()
	list, err := sandbox.Invoices.List(t.Context(), sandbox.Caller, invoice.ListParams{Subscription: member, Page: api.Page{Limit: api.MaxLimit}})
	if err != nil {
		t.Fatal(err)
	}
	for _, bill := range list.Data {
		all = append([]invoice.Invoice{bill}, all...)
	}
	return all
}

// Two years pass in the time of a test: every month has one paid invoice.
func TestTwoYears(t *testing.T) {
	sandbox, g := open(t)
	ama, kofi := join(t, g, "1", "0241234567"), join(t, g, "2", "0241230901") // Kofi's phone declines
	sandbox.Work()
	if !g.MayEnter(ama) || !g.MayEnter(kofi) {
		t.Error("the free week is closed")
	}
	joined := sandbox.Advance(0)
	started := time.Now()
	end := joined.AddDate(2, 0, 7)
	for now := joined; now.Before(end); { // month by month, so that failed charges are tried again in between
		now = sandbox.Advance(min(30*24*time.Hour, end.Sub(now)))
	}
	t.Logf("two years took %s", time.Since(started))

	paid := bills(t, sandbox, ama)
	first := joined.AddDate(0, 0, 7)
	for n, bill := range paid {
		if bill.Status != invoice.Paid || bill.Total != 150_00 {
			t.Errorf("invoice %d is %s, of %d pesewas", n+1, bill.Status, bill.Total)
		}
		// Months are counted from the first, and a shorter month ends them earlier.
		if want := first.AddDate(0, n, 0); first.Day() <= 28 && bill.InvoiceDate.Format(time.DateOnly) != want.Format(time.DateOnly) {
			t.Errorf("invoice %d is of %s, want %s", n+1, bill.InvoiceDate, want)
		}
	}
	if len(paid) != 25 { // the last month has just begun
		t.Errorf("%d invoices in two years", len(paid))
	}
	if !g.MayEnter(ama) || g.MayEnter(kofi) {
		t.Errorf("the door opens for Ama %t, for Kofi %t", g.MayEnter(ama), g.MayEnter(kofi))
	}
	gone, err := sandbox.Subscriptions.Get(t.Context(), sandbox.Caller, kofi)
	if err != nil || gone.Status != subscription.Cancelled {
		t.Errorf("Kofi's membership: %+v, %v", gone, err)
	}
}

// A member who joins twice is one member.
func TestJoinTwice(t *testing.T) {
	sandbox, g := open(t)
	first := join(t, g, "1", "0241234567")
	for range 2 { // at once, and when the idempotency keys have ended
		if again := join(t, g, "1", "0241234567"); first != again {
			t.Errorf("joined as %s and %s", first, again)
		}
		sandbox.Advance(31 * 24 * time.Hour)
	}
}

// A friend who comes for half a month costs half a month, on the next invoice.
func TestBringAFriend(t *testing.T) {
	sandbox, g := open(t)
	ama := join(t, g, "1", "0241234567")
	sandbox.Advance(7 * 24 * time.Hour)
	member, err := sandbox.Subscriptions.Get(t.Context(), sandbox.Caller, ama)
	if err != nil {
		t.Fatal(err)
	}
	month := time.Duration(member.CurrentPeriodEnd-member.CurrentPeriodStart) * time.Second
	sandbox.Advance(time.Unix(member.CurrentPeriodStart, 0).Add(month / 2).Sub(sandbox.Advance(0)))
	if err := g.Bring(t.Context(), ama, 1); err != nil {
		t.Fatal(err)
	}
	sandbox.Advance(month)
	all := bills(t, sandbox, ama)
	if len(all) < 2 {
		t.Fatalf("%d invoices", len(all))
	}
	// Two for the new month, and one for half of the old one, at 150 a month each.
	if second := all[1].Total; second < 374_99 || second > 375_00 {
		t.Errorf("the second invoice is of %d pesewas", second)
	}
}

// While a member is away nothing is charged, and the door stays shut. A member who leaves stays until
// the month is over.
func TestAwayAndLeave(t *testing.T) {
	sandbox, g := open(t)
	ama := join(t, g, "1", "0241234567")
	sandbox.Advance(8 * 24 * time.Hour)
	if err := g.Away(t.Context(), ama); err != nil {
		t.Fatal(err)
	}
	sandbox.Advance(90 * 24 * time.Hour)
	if n := len(bills(t, sandbox, ama)); n != 1 || g.MayEnter(ama) {
		t.Errorf("away: %d invoices, the door opens %t", n, g.MayEnter(ama))
	}
	if err := g.Back(t.Context(), ama); err != nil {
		t.Fatal(err)
	}
	sandbox.Work()
	if n := len(bills(t, sandbox, ama)); n != 2 || !g.MayEnter(ama) {
		t.Errorf("back: %d invoices, the door opens %t", n, g.MayEnter(ama))
	}
	if err := g.Leave(t.Context(), ama); err != nil {
		t.Fatal(err)
	}
	sandbox.Advance(20 * 24 * time.Hour)
	if !g.MayEnter(ama) {
		t.Error("the door is shut before the month is over")
	}
	sandbox.Advance(20 * 24 * time.Hour)
	if n := len(bills(t, sandbox, ama)); n != 2 || g.MayEnter(ama) {
		t.Errorf("left: %d invoices, the door opens %t", n, g.MayEnter(ama))
	}
}
