package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
)

// cedi is the step that moves money: one transfer of GHS 1.00, which is submitted once.
type cedi struct {
	rail provider.Rail
	live bool
	// reference is what the provider calls the order, for its dashboard.
	reference func(id string) string
	// float says what to do about an empty float.
	float string
}

const (
	cediStep = "one cedi"
	pause    = 5 * time.Second
)

// oneCedi sends one cedi, or asks about one that was sent before.
func (d *doctor) oneCedi(ctx context.Context, c cedi) {
	t := provider.Transfer{
		Order:   provider.Order{ID: d.order, Live: c.live, Amount: 100, Attempts: 1},
		Channel: provider.MobileMoney, Network: d.network, Number: d.number, Name: "Doctor", Description: "Test of the account",
	}
	submit := c.rail.Status
	switch {
	case d.order != "":
		if _, ok := paystack.Reference(d.order); !ok {
			d.notOK(cediStep, "-order is not the id of a cedi: po_ with 22 letters and digits.")
			return
		}
		t.SubmittedAt = d.now().Add(-time.Hour) // long enough to be found
	case !d.sendCedi:
		d.skip(cediStep, "Give -number and -send-one-cedi to send GHS 1.00 of real money to yourself. The account is proved only then.")
		return
	default:
		t.ID, t.SubmittedAt, submit = "po_"+rand.Text()[:22], d.now(), c.rail.Submit
		t.CreatedAt = t.SubmittedAt
		d.line("…", cediStep, fmt.Sprintf("sending GHS 1.00 to %s as %s (%s)", d.masked(), t.ID, c.reference(t.ID)))
	}
	d.seen.forget()
	d.follow(ctx, c, t, submit)
}

// follow makes the first call, and then asks until the outcome is known or the time is over.
func (d *doctor) follow(ctx context.Context, c cedi, t provider.Transfer, call func(context.Context, provider.Transfer) (provider.Result, error)) {
	for end := d.now().Add(d.wait); ; call = c.rail.Status {
		t.Now = d.now()
		r, err := within(ctx, t, call)
		seen := d.seen.exchanges()
		known := explain(d.failures, seen)
		switch {
		case err == nil && r.Outcome == provider.Paid:
			d.ok(cediStep, "The provider says that it was paid. Reference %s, fee %s. Look whether it has come.", r.Reference, cedis(r.ProviderFee))
			return
		case err == nil && r.Outcome == provider.Reversed:
			d.notOK(cediStep, "The provider paid it and took it back. Ask the provider why.")
			return
		case err == nil && r.Outcome == provider.Refused && r.Reason.Code == api.ProviderBalanceInsufficient:
			d.notOK(cediStep, c.float)
			return
		case err == nil && r.Outcome == provider.Refused:
			todo := "The provider refused it. Is the number right, and may its wallet receive money?"
			if known != nil && known.word != "" {
				todo = known.says
			}
			d.notOK(cediStep, todo)
			d.line("", "", "("+r.Reason.Text()+")")
			return
		case known != nil && known.waits:
			d.notOK(cediStep, known.says)
			return
		case err == nil && r.Outcome == provider.NotFound && known != nil && known.refuses():
			d.notOK(cediStep, known.says+" The provider does not know the order: no money has moved.")
			return
		case !d.now().Before(end) || ctx.Err() != nil:
			d.undecided(c, t.ID, r, err, known)
			return
		}
		d.sleep(ctx, max(pause, min(r.PollAfter, end.Sub(d.now()))))
	}
}

func within(ctx context.Context, t provider.Transfer, call func(context.Context, provider.Transfer) (provider.Result, error)) (provider.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx, t)
}

// undecided says what to do about a cedi whose outcome is not known in time.
func (d *doctor) undecided(c cedi, id string, r provider.Result, err error, known *failure) {
	state := "is still under way"
	switch {
	case err != nil:
		state = "could not be asked about"
	case r.Outcome == provider.NotFound:
		state = "is not known to the provider"
	}
	todo := ""
	if known != nil {
		todo = known.says + " "
	}
	d.notOK(cediStep, fmt.Sprintf("%sThe order %s. It may still move: do not send another one now. Ask again later with "+
		"-provider %s -order %s, and look for %s in the provider's dashboard.", todo, state, d.provider, id, c.reference(id)))
	if err != nil {
		d.line("", "", "("+err.Error()+")")
	}
}
