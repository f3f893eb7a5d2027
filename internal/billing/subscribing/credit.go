package subscribing

import (
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
)

// credit is the part of a credit balance that belongs to an invoice: the credit for unused time that the
// invoice had charged. It is worth less when a part of that invoice's payment is given back, and nothing
// once that invoice is void or uncollectible. What invoices have used of it stays used.
type credit struct {
	Invoice string `json:"invoice"`
	// Full is the credit with its tax, as long as nothing is given back. Worth is what it is worth now.
	Full  int64 `json:"full"`
	Worth int64 `json:"worth"`
	// Used is what invoices have taken of it.
	Used int64 `json:"used,omitempty"`
}

func (c *credit) left() int64 { return max(0, c.Worth-c.Used) }

// usedCredit is what an invoice has taken of a credit.
type usedCredit struct {
	Invoice string `json:"invoice"` // that of the credit
	Amount  int64  `json:"amount"`
}

// credit returns the credit that belongs to an invoice; nil for none. An invoice has at most one, since
// later changes in its period credit earlier ones.
func (r *record) credit(invoice string) *credit {
	for i := range r.Credits {
		if r.Credits[i].Invoice == invoice {
			return &r.Credits[i]
		}
	}
	return nil
}

// revalue adjusts the credits that belong to an invoice to its refunds, or to its end without payment.
func (s *Service) revalue(tx *engine.Tx, r *record, invoice string) error {
	of := func(l waitingLine) bool { return l.Invoice == invoice }
	c := r.credit(invoice)
	if c == nil && !slices.ContainsFunc(r.Waiting, of) {
		return nil
	}
	charged, err := s.config.Invoices.Charged(tx, engine.Scope(tx.Caller), invoice)
	if err != nil {
		return err
	}
	if c != nil {
		left := c.left()
		c.Worth = charged.Worth(c.Full)
		r.CreditBalance -= left - c.left()
		r.dropCredits()
	}
	waiting := slices.Clone(r.Waiting) // an unpaid invoice may share the lines
	for i := range waiting {
		if l := &waiting[i]; of(*l) {
			l.Amount = -charged.Worth(l.Full)
		}
	}
	was := r.Waiting
	r.Waiting = slices.DeleteFunc(waiting, func(l waitingLine) bool { return l.Amount == 0 })
	if err := s.checkNext(r); api.IsRefusal(err) { // without the credit, the charges exceed the limits of an invoice
		r.Waiting = was
	} else if err != nil {
		return err
	}
	return nil
}

// keepCredit adds to the credit balance what an invoice below zero has left over. The oldest of the invoice's
// credits are used first, so that the rest belongs to the newest.
func (r *record) keepCredit(rest int64) {
	r.CreditBalance += rest
	var kept []credit
	for _, l := range slices.Backward(r.Waiting) {
		if l.Invoice == "" || rest == 0 {
			continue
		}
		c := credit{Invoice: l.Invoice, Full: l.withTax(l.Full), Worth: l.withTax(-l.Amount)}
		left := min(c.Worth, rest)
		c.Used, rest = c.Worth-left, rest-left
		kept = append(kept, c)
	}
	slices.Reverse(kept)
	r.Credits = append(r.Credits, kept...)
}

// withTax returns a part of a line with its tax.
func (l *waitingLine) withTax(amount int64) int64 {
	if l.Taxable && l.TaxPercent != nil {
		amount += money.Share(amount, l.TaxPercent.Decimal)
	}
	return amount
}

// useCredit takes an amount off the credit balance, the oldest first. It returns what it took of the
// credits of invoices.
func (r *record) useCredit(amount int64) (taken []usedCredit) {
	unattributed := r.CreditBalance
	for i := range r.Credits {
		unattributed -= r.Credits[i].left()
	}
	r.CreditBalance -= amount
	amount -= min(amount, unattributed)
	for i := range r.Credits {
		if n := min(amount, r.Credits[i].left()); n > 0 {
			r.Credits[i].Used += n
			amount -= n
			taken = append(taken, usedCredit{r.Credits[i].Invoice, n})
		}
	}
	return taken
}

// dropCredits removes the credits that are used up and that no void can give back.
func (r *record) dropCredits() {
	r.Credits = slices.DeleteFunc(r.Credits, func(c credit) bool {
		return c.left() == 0 && !slices.ContainsFunc(r.Unpaid, func(u unpaid) bool {
			return u.Used != nil && slices.ContainsFunc(u.Used.Credits, func(taken usedCredit) bool { return taken.Invoice == c.Invoice })
		})
	})
}

// giveBack returns to the subscription what a voided invoice has taken: credit, lines that were credit, and a
// coupon for one invoice. The coupon does not come back if the subscription has another one now. Credit comes back
// at its present worth. What the invoice charged for changes in an earlier period lapses with it.
func (s *Service) giveBack(tx *engine.Tx, r *record, u *used) error {
	r.CreditBalance += u.Credit
	for _, taken := range u.Credits {
		r.CreditBalance -= taken.Amount
		if c := r.credit(taken.Invoice); c != nil {
			left := c.left()
			c.Used -= taken.Amount
			r.CreditBalance += c.left() - left
		}
	}
	if u.Discount != nil && r.Discount == nil {
		r.Discount, r.Coupon = u.Discount, u.Coupon
	}
	waiting := r.Waiting
	r.Waiting = slices.Concat(u.Waiting, waiting)
	if err := s.checkNext(r); api.IsRefusal(err) { // one invoice could not take all these lines
		r.Waiting = waiting
		r.CreditBalance -= total(u.Waiting)
	} else if err != nil {
		return err
	}
	for _, l := range u.Waiting {
		if l.Invoice == "" {
			continue
		}
		if err := s.revalue(tx, r, l.Invoice); err != nil {
			return err
		}
	}
	return nil
}
