package subscribing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/subscription"
)

// shortDay is a day as an SMS shows it, and shortTime a time. Accra has the time of UTC.
const (
	shortDay  = "2 Jan"
	shortTime = "2 Jan, 15:04"
)

// automatic reports whether the subscription asks a phone for its charges.
func (r *record) automatic() bool { return r.CollectionMethod == invoice.ChargeAutomatically }

// text queues an SMS about automatic charges to a phone. write composes the SMS from the names of merchant and
// plan and a short link to a page for the customer.
func (s *Service) text(tx *engine.Tx, r *record, to string, page message.LinkPage, id string, write func(name, plan, link string) string) error {
	if to == "" || !s.config.Messages.CanText(r.Livemode) {
		return nil
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("subscription: merchant: %w", err)
	}
	link, err := s.config.Messages.Link(tx, page, id)
	if err != nil {
		return err
	}
	text := s.config.Messages.Short(m.Name, r.Terms.Name, func(name, plan string) string { return write(name, plan, link) })
	return s.config.Payments.Text(tx, r.Customer, to, text)
}

// textManage is text to the charged phone, with a link to the subscription's page.
func (s *Service) textManage(tx *engine.Tx, r *record, write func(name, plan, link string) string) error {
	return s.text(tx, r, r.Phone, message.SubscriptionPage, r.ID, write)
}

// textBegun says that automatic charges have begun: how much, and from which day on. If the first charge differs
// from the later ones, for example because a coupon ends, it states both.
func (s *Service) textBegun(tx *engine.Tx, r *record) error {
	if !r.automatic() {
		return nil
	}
	first, err := s.firstCharge(tx, r)
	if err != nil || first == nil {
		return err
	}
	later, err := s.laterTotal(r)
	if err != nil || first.Total == 0 && later == 0 {
		return err
	}
	return s.textManage(tx, r, func(name, plan, link string) string {
		begun := fmt.Sprintf("%s: %s started. ", name, plan)
		always := fmt.Sprintf("GHS %s %s", money.Text(later), each(r.Terms.recurrence))
		switch {
		case first.Total == later:
			return begun + fmt.Sprintf("We ask this phone for %s from %s. See or cancel: %s", always, s.chargeDay(r, first), link)
		case first.Total == 0:
			return begun + fmt.Sprintf("Later we ask this phone for %s. See or cancel: %s", always, link)
		}
		return begun + fmt.Sprintf("We ask this phone for GHS %s from %s, later %s. See: %s", money.Text(first.Total), s.chargeDay(r, first), always, link)
	})
}

// laterTotal returns what a later period costs: without waiting lines, credit, and a coupon that ends.
func (s *Service) laterTotal(r *record) (int64, error) {
	later := *r
	later.Waiting, later.CreditBalance = nil, 0
	if later.Coupon != nil && (later.Coupon.Once || later.Discount.End != nil) {
		later.Coupon, later.Discount = nil, nil
	}
	priced, err := s.config.Invoices.PriceSubscription(later.price())
	if err != nil {
		return 0, err
	}
	return priced.Total, nil
}

// firstCharge returns the next automatic charge: that of an open invoice, or of the next period; nil for none.
func (s *Service) firstCharge(tx *engine.Tx, r *record) (*subscription.NextInvoice, error) {
	for _, id := range r.charged() {
		v, err := s.config.Invoices.Find(tx, engine.Scope(tx.Caller), id)
		if err != nil {
			return nil, err
		}
		if v.AmountDue > 0 {
			return &subscription.NextInvoice{At: tx.Now.Unix(), Total: v.AmountDue}, nil
		}
	}
	return s.nextInvoice(r)
}

// chargeDay returns the day on which a phone is asked to pay an invoice.
func (s *Service) chargeDay(r *record, next *subscription.NextInvoice) string {
	return s.config.Invoices.ChargeTime(r.Livemode, time.Unix(next.At, 0).UTC()).Format(shortDay)
}

// each says how often a charge comes.
func each(every recurrence) string {
	if every.Count == 1 {
		return "each " + string(every.Interval)
	}
	return fmt.Sprintf("every %d %ss", every.Count, every.Interval)
}

// textTrialEnds says what is charged after the trial.
func (s *Service) textTrialEnds(tx *engine.Tx, r *record) error {
	if !r.automatic() {
		return nil
	}
	next, err := s.nextInvoice(r)
	if err != nil || next == nil || next.Total == 0 {
		return err
	}
	if !tx.Now.Before(s.chargeTime(r).Add(-day)) {
		r.Noticed = true // this SMS announces the charge, too
	}
	return s.textManage(tx, r, func(name, plan, link string) string {
		return fmt.Sprintf("%s: your trial of %s ends. On %s we ask this phone for GHS %s. See or cancel: %s",
			name, plan, s.chargeDay(r, next), money.Text(next.Total), link)
	})
}

// failures are the reasons of failed charges, in the words of an SMS.
var failures = map[provider.Failure]string{
	provider.FailureInsufficientFunds: "the balance is too low",
	provider.FailureDeclined:          "it was declined",
	provider.FailureTimeout:           "it was not approved",
	provider.FailureWrongCode:         "the code was wrong",
	provider.FailureCancelled:         "it was cancelled",
	provider.FailureLimit:             "it is above a limit",
	invoicing.NotAsked:                "this phone was not asked",
}

// textFailed says that an automatic charge has failed, why, and when the phone is asked again.
func (s *Service) textFailed(tx *engine.Tx, r *record, is *invoicing.Outcome) error {
	v, err := s.config.Invoices.Find(tx, engine.Scope(tx.Caller), is.Invoice)
	if err != nil || v.Status != invoice.Open && v.Status != invoice.Uncollectible {
		return err // it was paid meanwhile
	}
	why, known := failures[is.Failure]
	if !known {
		why = "it did not go through"
	}
	page, id, next, link := message.InvoicePage, v.ID, "", "Pay now: "
	switch {
	case v.Status == invoice.Uncollectible:
		page, id, link = message.SubscriptionPage, r.ID, "See: "
	case v.NextPaymentAttempt != nil:
		at := s.config.Invoices.ChargeTime(r.Livemode, v.NextPaymentAttempt.Time)
		next = " Next try " + at.UTC().Format(shortTime) + "."
	}
	return s.text(tx, r, cmp.Or(r.Phone, is.Phone), page, id, func(name, plan, at string) string {
		return fmt.Sprintf("%s: GHS %s for %s not paid, %s.%s %s%s", name, money.Text(v.AmountDue), plan, why, next, link, at)
	})
}

// textEnded says that the subscription has ended, because the last charge of an invoice has failed.
func (s *Service) textEnded(tx *engine.Tx, r *record, is *invoicing.Outcome) error {
	v, err := s.config.Invoices.Find(tx, engine.Scope(tx.Caller), is.Invoice)
	if err != nil {
		return err
	}
	after, err := s.afterTheEnd(r, false)
	if err != nil {
		return err
	}
	return s.textManage(tx, r, func(name, plan, link string) string {
		return fmt.Sprintf("%s: %s has ended, as GHS %s was not paid. %s See: %s", name, plan, money.Text(v.AmountDue), after, link)
	})
}

// textChanges tells the phones of a subscription what a call has changed for them. old is the subscription before
// the call.
func (s *Service) textChanges(tx *engine.Tx, old, r *record) error {
	ends, ended := r.CancelAtPeriodEnd && !old.CancelAtPeriodEnd, r.Status == subscription.Cancelled
	switch {
	case ended && !old.automatic(), ends && !ended && !r.automatic():
		return nil
	case ended:
		return s.textCancelled(tx, old, "is cancelled.")
	case old.automatic() && r.automatic() && old.Phone != r.Phone:
		if err := s.textPhoneChanged(tx, old, r); err != nil {
			return err
		}
	}
	switch {
	case ends:
		return s.textCancelled(tx, r, "is cancelled and runs until "+r.periodEnd().Format(shortDay)+".")
	case r.CancelAtPeriodEnd, old.automatic() && !old.CancelAtPeriodEnd:
		return nil // the call began no charges
	}
	return s.textBegun(tx, r)
}

// textCancelled says that the subscription is cancelled, and whether something is still to be paid.
func (s *Service) textCancelled(tx *engine.Tx, r *record, what string) error {
	after, err := s.afterTheEnd(r, len(r.charged()) > 0)
	if err != nil {
		return err
	}
	return s.textManage(tx, r, func(name, plan, link string) string {
		return fmt.Sprintf("%s: %s %s %s See: %s", name, plan, what, after, link)
	})
}

// afterTheEnd says whether something is still to be paid after the end of the subscription: open invoices,
// or a final one for the lines that wait.
func (s *Service) afterTheEnd(r *record, open bool) (string, error) {
	final, err := s.finalTotal(r)
	if err != nil {
		return "", err
	}
	if open || final > 0 {
		return "What is unpaid stays due.", nil
	}
	return "Nothing more is charged.", nil
}

// textPhoneChanged tells the phone that was charged until now that another one is charged from now on.
func (s *Service) textPhoneChanged(tx *engine.Tx, old, r *record) error {
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("subscription: merchant: %w", err)
	}
	ask := "See"
	if m.Phone != "" {
		ask = "Call " + phone.National(m.Phone) + " or see"
	}
	return s.text(tx, r, old.Phone, message.SubscriptionPage, r.ID, func(name, plan, link string) string {
		return fmt.Sprintf("%s: %s is now charged to %s, not to this phone. Not you? %s %s", name, plan, phone.Mask(r.Phone), ask, link)
	})
}

// notices reports whether an SMS is to announce the next automatic charge.
func (s *Service) notices(r *record) bool {
	return r.Livemode && !s.config.NoChargeNotice && r.automatic() && !r.Noticed && !r.CancelAtPeriodEnd && r.Status != subscription.Paused
}

// chargeTime returns when the next period is charged.
func (s *Service) chargeTime(r *record) time.Time {
	return s.config.Invoices.ChargeTime(r.Livemode, r.periodEnd())
}

// notice queues the SMS that announces the next automatic charge. It queues none if the time of the charge has come,
// or if nothing will be due.
func (s *Service) notice(t *turn, r *record) ([]event.Type, error) {
	r.Noticed = true
	at := s.chargeTime(r)
	if !t.tx.Now.Before(at) {
		return nil, nil
	}
	next, err := s.nextInvoice(r)
	if err != nil || next == nil || next.Total == 0 {
		return nil, err
	}
	return nil, s.textManage(t.tx, r, func(name, plan, link string) string {
		return fmt.Sprintf("On %s %s will ask this phone to pay GHS %s for %s. See or cancel it: %s",
			at.Format("2 January"), name, money.Text(next.Total), plan, link)
	})
}
