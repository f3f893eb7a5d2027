package invoice_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// scripted answers for phones as the test says. It decides nothing about payment methods, and gives no refunds.
type scripted struct {
	phone  *func() (provider.Result, error)
	method *string // the id of the last charge of a payment method
}

func newScripted(phone func() (provider.Result, error)) scripted {
	return scripted{&phone, new(string)}
}

func (c scripted) Charge(_ context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		*c.method = o.ID
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	return (*c.phone)()
}

func (c scripted) ChargeStatus(_ context.Context, o provider.Charge) (provider.Result, error) {
	if o.Phone == "" {
		return provider.Result{Outcome: provider.InProgress}, nil
	}
	r, err := (*c.phone)()
	if err != nil { // nothing has arrived
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return r, nil
}

// refunding is scripted, and answers all refunds alike.
type refunding struct {
	scripted
	refund *provider.Outcome
}

func (c refunding) Refund(context.Context, provider.Refund) (provider.Result, error) {
	return provider.Result{Outcome: *c.refund}, nil
}

func (c refunding) RefundStatus(context.Context, provider.Refund) (provider.Result, error) {
	return provider.Result{Outcome: *c.refund}, nil
}

func inProgress() (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

func refuse() (provider.Result, error) { return provider.Result{Outcome: provider.Refused}, nil }

func lose() (provider.Result, error) { return provider.Result{}, errors.New("the answer is lost") }

// prompts returns the payments from phones of an invoice, the newest first.
func (s *shop) prompts(id string) []payment.Payment {
	s.t.Helper()
	return must.Get(s.Payments.List(s.t.Context(), s.Caller, payment.ListParams{Invoice: id, PaymentMethod: payment.FromPhone}))(s.t).Data
}

// listed returns the charges that need a person.
func (s *shop) listed() []provider.OrderInfo {
	s.t.Helper()
	return must.Get(s.Providers.List(s.t.Context(), s.Caller, provider.ListParams{Flow: provider.Charges, Contradicted: true}))(s.t).Data
}

// An automatic payment that arrives late pays its invoice, or is given back, or waits for a person. While its money
// waits for a person, the phone is not asked again.
func TestLateMoneyIsNotAskedForTwice(t *testing.T) {
	lates := map[string]struct {
		answer func() (provider.Result, error)
		// contradicts says that the payment had failed before.
		contradicts bool
		// charged says that another charge of the invoice is under way.
		charged bool
	}{
		"in time":                {answer: inProgress},
		"after its deadline":     {answer: inProgress},
		"after a refusal":        {answer: refuse, contradicts: true},
		"after it was given up":  {answer: lose, contradicts: true},
		"during another charge":  {answer: inProgress, charged: true},
		"never, and was refused": {answer: refuse},
	}
	refunds := map[string]*provider.Outcome{"none": nil, "paid": new(provider.Paid), "refused": new(provider.Refused)}
	closes := map[string]struct {
		status invoice.Status
		close  func(*shop, string) error
	}{
		"open": {invoice.Open, func(*shop, string) error { return nil }},
		"paid": {invoice.Paid, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Pay(s.t.Context(), s.Caller, id, invoice.PayParams{PaidOutOfBand: true}))
		}},
		"void": {invoice.Void, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Void(s.t.Context(), s.Caller, id))
		}},
		"uncollectible": {invoice.Uncollectible, func(s *shop, id string) error {
			return testkit.Err(s.Invoices.MarkUncollectible(s.t.Context(), s.Caller, id))
		}},
	}
	for how, late := range lates {
		for refunded, refund := range refunds {
			for is, closed := range closes {
				if closed.status != invoice.Open && (late.charged || how == "in time") {
					continue // such an invoice cannot be closed
				}
				t.Run(how+"/refund "+refunded+"/"+is, func(t *testing.T) {
					script := newScripted(late.answer)
					var charger provider.Charger = script
					if refund != nil {
						charger = refunding{script, refund}
					}
					s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: charger}})
					v := s.openInvoice(invoice.Fields{Phone: new(quick), CollectionMethod: new(invoice.ChargeAutomatically)})
					must.Do(t, s.Drain(t.Context()))
					first := s.prompts(v.ID)[0].ID
					if how != "in time" {
						s.pass(10 * time.Minute)
						s.pass(10 * time.Minute)
					}
					must.Do(t, closed.close(s, v.ID))
					if late.charged {
						testkit.WantCode(t, "another charge", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
					}
					*script.phone = inProgress // of all later prompts
					switch err := s.Providers.Notify(t.Context(), first, provider.Result{Outcome: provider.Paid}); {
					case how == "never, and was refused":
						expect.ErrorIs(t, err, provider.ErrContradicted, "a report that is resolved")
						must.Do(t, s.Providers.Resolve(t.Context(), first))
					case late.contradicts:
						expect.ErrorIs(t, err, provider.ErrContradicted, "the report")
					default:
						expect.NoError(t, err, "report")
					}
					must.Do(t, s.Drain(t.Context()))
					if late.charged {
						must.Do(t, s.Providers.Notify(t.Context(), *script.method, provider.Result{Outcome: provider.Refused}))
					}

					taken := closed.status == invoice.Open && !late.contradicts && !late.charged && late.answer != nil && how != "never, and was refused"
					status := closed.status
					if taken {
						status = invoice.Paid
					}
					expect.Equal(t, s.get(v.ID).Status, status, "status")
					back := refunded == "paid" && !taken && !late.contradicts && how != "never, and was refused"
					if back {
						expect.Equal(t, s.payment(first).AmountRefunded, 25_00, "given back")
					} else {
						expect.Equal(t, s.payment(first).AmountRefunded, 0, "given back")
					}
					held := !taken && !back && how != "never, and was refused"
					expect.Equal(t, len(s.listed()), map[bool]int{true: 1}[held], "orders that need a person")

					asks := status == invoice.Open && !held // again, when it is time
					for range 7 {
						s.pass(24 * time.Hour)
					}
					want := 1
					if asks {
						want = 2 // which has no outcome
					}
					expect.Equal(t, len(s.prompts(v.ID)), want, "prompts in a week")
					expect.Equal(t, s.get(v.ID).Status, status, "status a week later")
					if !held {
						return
					}
					must.Do(t, s.Providers.Resolve(t.Context(), first))
					s.pass(time.Hour)
					if status == invoice.Open {
						want = 2
					}
					expect.Equal(t, len(s.prompts(v.ID)), want, "prompts when a person has decided")
					s.Verified()
				})
			}
		}
	}
}
