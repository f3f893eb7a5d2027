// Package billmodel is the rule of a subscription's invoices once more, as a person works it out on paper: in
// exact fractions, without a store, a worker or a clock that runs. Tests compare the service with it. It shares
// no code with what it checks.
package billmodel

import (
	"math/big"
	"slices"
	"time"
)

// Terms are what a period is charged for.
type Terms struct {
	Plan     string // its id
	Name     string // that of the plan
	Amount   int64  // pesewas for each
	Quantity int64
	Tax      *big.Rat // a rate in percent; nil for untaxed
}

// Coupon takes a percentage off, or an amount in pesewas if Percent is nil.
type Coupon struct {
	ID      string
	Percent *big.Rat
	Amount  int64
	// Once says that the coupon is for one invoice.
	Once bool
	// End is that of a repeating coupon; zero for others. A period that starts then has no discount.
	End time.Time
}

// off returns what a coupon takes off a price. A nil coupon takes nothing.
func (c *Coupon) off(price int64) int64 {
	switch {
	case c == nil || price <= 0:
		return 0
	case c.Percent != nil:
		return min(round(share(price, c.Percent, big.NewRat(100, 1))), price)
	}
	return min(c.Amount, price)
}

// InvoiceStatus is the status of an invoice.
type InvoiceStatus string

// The statuses of a subscription's invoice.
const (
	Open          InvoiceStatus = "open"
	Paid          InvoiceStatus = "paid"
	Void          InvoiceStatus = "void"
	Uncollectible InvoiceStatus = "uncollectible"
)

// Line is a line of an invoice.
type Line struct {
	Text     string
	Amount   int64
	Discount int64    // its share of the invoice's discount
	Tax      *big.Rat // as of Terms
}

// Invoice is an invoice of a subscription.
type Invoice struct {
	Lines                          []Line
	Subtotal, Discount, Tax, Total int64
	Status                         InvoiceStatus
	// Payment is what was paid by a payment, and Refunded what was given back of it or taken back.
	Payment, Refunded int64

	coupon *Coupon // what was taken off
	// waited are the lines that had waited for the invoice, and comeBack that a void returns them.
	waited   []*waiting
	comeBack bool
	drawn    []draw // what it took of the credit balance
}

// Discounted reports whether a coupon was taken off.
func (v *Invoice) Discounted() bool { return v.coupon != nil }

// kept returns the share of an invoice that is owed, or paid and not given back. Of so much a credit for it is
// worth.
func (v *Invoice) kept() *big.Rat {
	switch {
	case v.Status == Void || v.Status == Uncollectible:
		return new(big.Rat)
	case v.Payment == 0: // open, paid outside, or nothing was due
		return big.NewRat(1, 1)
	}
	return big.NewRat(v.Payment-v.Refunded, v.Payment)
}

// waiting is a line that waits for the next invoice.
type waiting struct {
	text   string
	amount int64
	tax    *big.Rat
	// of is the invoice that a credit is for; nil for a charge, and for the credit for a charge that waits, too.
	of *Invoice
}

// worth returns what the line says if the invoice is made now.
func (w *waiting) worth() int64 {
	if w.of == nil {
		return w.amount
	}
	return round(share(w.amount, w.of.kept(), big.NewRat(1, 1)))
}

// piece is a credit of which a part is in the credit balance, or was.
type piece struct {
	of     *Invoice // the invoice that it is credit for; nil for pesewas that rounding has left
	amount int64    // the whole credit with its tax, as if all of its invoice were kept
	line   int64    // the line of credit with its tax, when the kept share was at
	at     *big.Rat
	used   int64 // what invoices have taken of it, the one with its line first
}

// worth returns what the credit is worth by now, used or not.
func (p *piece) worth() int64 {
	if p.of == nil || p.of.kept().Cmp(p.at) == 0 {
		return p.line
	}
	return round(share(p.amount, p.of.kept(), big.NewRat(1, 1)))
}

// left returns what can still be taken of a piece. What was used stays used.
func (p *piece) left() int64 { return max(0, p.worth()-p.used) }

// draw is what an invoice took of a piece.
type draw struct {
	from   *piece
	amount int64
}

// Subscription is what a subscription charges.
type Subscription struct {
	Terms Terms
	// Coupon is on the subscription; nil for none.
	Coupon *Coupon
	// Start and End are those of the period.
	Start, End time.Time
	Invoices   []*Invoice // the oldest first
	// Ended says that the subscription was cancelled.
	Ended bool

	period *Invoice // the invoice of the period; nil before the first
	// putOn says that Coupon was put on since the invoice of the period.
	putOn bool
	// old is what the period is charged for a whole one, net; its terms; and the invoice that has charged it,
	// nil for a change that waits.
	old      int64
	oldTerms Terms
	oldOf    *Invoice
	waits    []*waiting
	pieces   []*piece
}

// PutOn puts a coupon on, or takes it off if it is nil.
func (s *Subscription) PutOn(c *Coupon) { s.Coupon, s.putOn = c, true }

// Bill begins a period with its invoice.
func (s *Subscription) Bill(start, end time.Time) *Invoice {
	s.Start, s.End = start, end
	if c := s.Coupon; c != nil && !c.End.IsZero() && !start.Before(c.End) {
		s.Coupon = nil
	}
	v := &Invoice{Status: Open}
	sum := s.take(v)
	price := s.Terms.Amount * s.Terms.Quantity
	if s.Coupon != nil && (!s.Coupon.Once || sum+price > 0) {
		v.coupon = s.Coupon
		v.Discount = s.Coupon.off(price) // what has waited carries its discount, and takes no share of this one
	}
	v.comeBack = sum < 0
	v.Lines = append(v.Lines, Line{Text: s.Terms.Name, Amount: price, Discount: v.Discount, Tax: s.Terms.Tax})
	s.total(v)
	if v.coupon != nil && v.coupon.Once {
		s.Coupon = nil
	}
	s.period, s.putOn = v, false
	s.old, s.oldTerms, s.oldOf = price-v.Discount, s.Terms, v
	return v
}

// take moves the lines that wait to an invoice, and returns their sum.
func (s *Subscription) take(v *Invoice) (sum int64) {
	for _, w := range s.waits {
		if amount := w.worth(); amount != 0 {
			v.Lines = append(v.Lines, Line{Text: w.text, Amount: amount, Tax: w.tax})
			sum += amount
		}
	}
	v.waited, s.waits = s.waits, nil
	return sum
}

// The lines of credit.
const (
	KeptCredit = "Credit for later invoices"
	UsedCredit = "Credit from earlier invoices"
)

// total adds an invoice up, and takes credit off it or keeps what is below zero.
func (s *Subscription) total(v *Invoice) {
	v.sum()
	credit := Line{Text: KeptCredit, Amount: -v.Total}
	if v.Total < 0 {
		s.keep(v, -v.Total)
	} else {
		credit = Line{Text: UsedCredit}
		for _, p := range s.pieces {
			if used := min(p.left(), v.Total+credit.Amount); used > 0 {
				p.used += used
				v.drawn = append(v.drawn, draw{p, used})
				credit.Amount -= used
			}
		}
	}
	if credit.Amount != 0 {
		v.Lines = append(v.Lines, credit)
		v.Subtotal += credit.Amount
		v.Total += credit.Amount
	}
	s.Invoices = append(s.Invoices, v)
}

// sum adds the lines of an invoice up. Each rate of tax is rounded once, over the sum of its lines.
func (v *Invoice) sum() {
	v.Subtotal, v.Tax = 0, 0
	var rates []*big.Rat
	base := map[string]int64{}
	for _, l := range v.Lines {
		v.Subtotal += l.Amount
		if l.Tax == nil {
			continue
		}
		if _, known := base[l.Tax.String()]; !known {
			rates = append(rates, l.Tax)
		}
		base[l.Tax.String()] += l.Amount - l.Discount
	}
	for _, rate := range rates {
		v.Tax += round(share(base[rate.String()], rate, big.NewRat(100, 1)))
	}
	v.Total = v.Subtotal - v.Discount + v.Tax
}

// keep adds what an invoice has left over to the credit balance. The credits of the first lines are used up
// first, so that the rest is of the last ones.
func (s *Subscription) keep(v *Invoice, rest int64) {
	var kept []*piece
	for _, w := range slices.Backward(v.waited) {
		if w.of == nil || w.worth() == 0 {
			continue
		}
		p := &piece{of: w.of, amount: taxed(-w.amount, w.tax), line: taxed(-w.worth(), w.tax), at: w.of.kept()}
		left := min(p.line, rest)
		p.used = p.line - left
		rest -= left
		kept = append(kept, p)
	}
	slices.Reverse(kept)
	s.pieces = slices.Concat([]*piece{{line: rest}}, s.pieces, kept)
}

// taxed returns an amount with its tax.
func taxed(amount int64, tax *big.Rat) int64 {
	if tax == nil {
		return amount
	}
	return amount + round(share(amount, tax, big.NewRat(100, 1)))
}

// discount returns the discount of the period: that of a coupon put on since its invoice, or that of the
// invoice. A coupon for one invoice is for the next one. An invoice that is void discounts nothing.
func (s *Subscription) discount() *Coupon {
	void := s.period.Status == Void
	if s.Coupon != nil && !s.Coupon.Once && (s.putOn || void) {
		return s.Coupon
	}
	if void {
		return nil
	}
	return s.period.coupon
}

// Change changes the terms within the period, to those of another plan or quantity. Prorated, it adds the credit
// for the unused time and the charge for the remaining time to the lines that wait.
func (s *Subscription) Change(at time.Time, to Terms, prorated bool) {
	nothing := to.Plan == s.Terms.Plan && to.Quantity == s.Terms.Quantity
	s.Terms = to
	if nothing || !prorated {
		return
	}
	s.credit(at)
	price := to.Amount * to.Quantity
	s.old, s.oldTerms, s.oldOf = price-s.discount().off(price), to, nil
	s.wait("Remaining time on "+to.Name, s.slice(at, s.old), to.Tax, nil)
}

// Leave ends the period at a time, for terms of another interval. Prorated, the credit for the unused time
// waits for the invoice of the next period, which the caller bills.
func (s *Subscription) Leave(at time.Time, to Terms, prorated bool) {
	s.Terms = to
	if prorated {
		s.credit(at)
	}
}

func (s *Subscription) credit(at time.Time) {
	s.wait("Unused time on "+s.oldTerms.Name, -s.slice(at, s.old), s.oldTerms.Tax, s.oldOf)
}

// slice returns the worth of the rest of the period from a time on.
func (s *Subscription) slice(at time.Time, price int64) int64 {
	left, whole := s.End.Unix()-at.Unix(), s.End.Unix()-s.Start.Unix()
	return round(share(price, big.NewRat(left, 1), big.NewRat(whole, 1)))
}

func (s *Subscription) wait(text string, amount int64, tax *big.Rat, of *Invoice) {
	s.waits = append(s.waits, &waiting{text, amount, tax, of})
}

// CreditBalance returns what is left of the credit balance.
func (s *Subscription) CreditBalance() (sum int64) {
	if s.Ended {
		return 0
	}
	for _, p := range s.pieces {
		sum += p.left()
	}
	return sum
}

// Void withdraws an invoice. What it took comes back: credit, lines that were credit all in all, and the coupon
// for one invoice, unless another is on.
func (s *Subscription) Void(v *Invoice) {
	v.Status = Void
	if s.Ended {
		return
	}
	for _, d := range v.drawn {
		d.from.used -= d.amount
	}
	if v.comeBack {
		s.waits = append(slices.Clone(v.waited), s.waits...)
	}
	if s.Coupon == nil && v.coupon != nil && v.coupon.Once {
		s.Coupon = v.coupon
	}
}

// Finish ends the subscription. If what waits costs more than the credit balance, it becomes the final
// invoice; else it lapses, and Finish returns nil.
func (s *Subscription) Finish() *Invoice {
	v := &Invoice{Status: Open}
	s.take(v)
	if v.sum(); v.Total <= s.CreditBalance() {
		v = nil
	} else {
		s.total(v)
	}
	s.Ended, s.waits, s.Coupon = true, nil, nil
	return v
}

// share returns amount × part / whole.
func share(amount int64, part, whole *big.Rat) *big.Rat {
	of := new(big.Rat).Mul(big.NewRat(amount, 1), part)
	return of.Quo(of, whole)
}

// round rounds a fraction to the nearest whole number, a half away from zero.
func round(r *big.Rat) int64 {
	up := new(big.Rat).Add(new(big.Rat).Abs(r), big.NewRat(1, 2))
	return int64(r.Sign()) * new(big.Int).Quo(up.Num(), up.Denom()).Int64()
}
