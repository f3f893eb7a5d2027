package billmodel_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/test/billmodel"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// april has 30 days, so that its middle is a half.
var april = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func percent(n int64) *billmodel.Coupon { return &billmodel.Coupon{Percent: big.NewRat(n, 1)} }

// monthly is a subscription in April, of 300.00 for each.
func monthly(c *billmodel.Coupon) *billmodel.Subscription {
	s := &billmodel.Subscription{Terms: billmodel.Terms{Plan: "gold", Name: "Gold", Amount: 300_00, Quantity: 1}, Coupon: c}
	s.Bill(april, april.AddDate(0, 1, 0))
	return s
}

func quantity(s *billmodel.Subscription, n int64) billmodel.Terms {
	to := s.Terms
	to.Quantity = n
	return to
}

func pay(v *billmodel.Invoice) { v.Status, v.Payment = billmodel.Paid, v.Total }

func next(s *billmodel.Subscription) *billmodel.Invoice {
	return s.Bill(s.End, s.End.AddDate(0, 1, 0))
}

func shown(v *billmodel.Invoice) string {
	text := ""
	for _, l := range v.Lines {
		text += fmt.Sprintf("%s %d, ", l.Text, l.Amount)
	}
	return fmt.Sprintf("%ssubtotal %d, discount %d, tax %d, total %d", text, v.Subtotal, v.Discount, v.Tax, v.Total)
}

// The figures of this test were worked out by hand.
func TestExamples(t *testing.T) {
	middle := april.Add(15 * day)
	for name, test := range map[string]struct {
		do   func() *billmodel.Subscription
		want string
		left int64 // the credit balance
	}{
		"half price forever, one and two and one": {func() *billmodel.Subscription {
			s := monthly(percent(50))
			pay(s.Invoices[0])
			s.Change(middle, quantity(s, 2), true)
			s.Change(middle, quantity(s, 1), true)
			return s
		}, "Unused time on Gold -7500, Remaining time on Gold 15000, Unused time on Gold -15000, Remaining time on Gold 7500, Gold 30000, subtotal 30000, discount 15000, tax 0, total 15000", 0},
		"two on the second day, paid on the third": {func() *billmodel.Subscription {
			s := monthly(nil)
			s.Change(april.Add(day), quantity(s, 2), true)
			pay(s.Invoices[0])
			return s
		}, "Unused time on Gold -29000, Remaining time on Gold 58000, Gold 60000, subtotal 89000, discount 0, tax 0, total 89000", 0},
		"half of the payment refunded before": {func() *billmodel.Subscription {
			s := monthly(nil)
			pay(s.Invoices[0])
			s.Invoices[0].Refunded = 150_00
			s.Change(middle, billmodel.Terms{Plan: "free", Name: "Free", Amount: 2, Quantity: 1}, true)
			return s
		}, "Unused time on Gold -7500, Remaining time on Free 1, Free 2, Credit for later invoices 7497, subtotal 0, discount 0, tax 0, total 0", 74_97},
		"half of the payment refunded after": {func() *billmodel.Subscription {
			s := monthly(nil)
			pay(s.Invoices[0])
			s.Change(middle, billmodel.Terms{Plan: "free", Name: "Free", Amount: 2, Quantity: 1}, true)
			s.Invoices[0].Refunded = 150_00
			return s
		}, "Unused time on Gold -7500, Remaining time on Free 1, Free 2, Credit for later invoices 7497, subtotal 0, discount 0, tax 0, total 0", 74_97},
		"the invoice ends uncollectible": {func() *billmodel.Subscription {
			s := monthly(nil)
			s.Change(middle, quantity(s, 2), true)
			s.Invoices[0].Status = billmodel.Uncollectible
			return s
		}, "Remaining time on Gold 30000, Gold 60000, subtotal 90000, discount 0, tax 0, total 90000", 0},
		"a coupon in mid-period": {func() *billmodel.Subscription {
			s := monthly(nil)
			s.PutOn(percent(10))
			s.Change(middle, quantity(s, 2), true)
			s.PutOn(nil)
			s.Change(middle.Add(5*day), quantity(s, 3), true)
			return s
		}, "Unused time on Gold -15000, Remaining time on Gold 27000, Unused time on Gold -18000, Remaining time on Gold 30000, Gold 90000, subtotal 114000, discount 0, tax 0, total 114000", 0},
		"an amount off and a tax": {func() *billmodel.Subscription {
			s := monthly(&billmodel.Coupon{Amount: 500_00, Once: true})
			pay(s.Invoices[0])
			to := billmodel.Terms{Plan: "taxed", Name: "Taxed", Amount: 600_01, Quantity: 1, Tax: big.NewRat(25, 2)}
			s.Change(middle, to, true)
			return s
		}, "Remaining time on Taxed 5001, Taxed 60001, subtotal 65002, discount 0, tax 8125, total 73127", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.do()
			expect.Equal(t, shown(next(s)), test.want, "the next invoice")
			expect.Equal(t, s.CreditBalance(), test.left, "the credit balance")
		})
	}
}

// What lies in the credit balance falls with its invoice, and what was used stays used.
func TestCreditBalanceFollowsItsInvoice(t *testing.T) {
	// 150.00 of credit, of which the next invoice uses 10.00 for the rest of April and 20.00 for May.
	kept := func() *billmodel.Subscription {
		s := monthly(nil)
		pay(s.Invoices[0])
		s.Change(april.Add(15*day), billmodel.Terms{Plan: "basic", Name: "Basic", Amount: 20_00, Quantity: 1}, true)
		expect.Equal(t, shown(next(s)), "Unused time on Gold -15000, Remaining time on Basic 1000, Basic 2000, Credit for later invoices 12000, subtotal 0, discount 0, tax 0, total 0", "the invoice of May")
		expect.Equal(t, s.CreditBalance(), 120_00, "the credit")
		return s
	}
	s := kept()
	s.Invoices[0].Refunded = 150_00
	expect.Equal(t, s.CreditBalance(), 45_00, "the credit of a half, 75.00, less 30.00 that was used")
	v := next(s)
	expect.Equal(t, v.Total, 0, "the total of %s", shown(v))
	expect.Equal(t, v.Subtotal, 0, "the subtotal of %s", shown(v))
	expect.Equal(t, s.CreditBalance(), 25_00, "the credit after 20.00 more of it were used")
	s.Invoices[0].Refunded = 299_00
	expect.Equal(t, v.Total, 0, "the total of the invoice that used it")
	expect.Equal(t, s.CreditBalance(), 0, "the credit, of which more was used than was kept")
	expect.Equal(t, next(s).Total, 20_00, "the invoice without credit")

	s = kept()
	s.Change(april.AddDate(0, 1, 0), quantity(s, 10), false)
	v = next(s)
	expect.Equal(t, v.Total, 80_00, "the total of %s", shown(v))
	expect.Equal(t, s.CreditBalance(), 0, "the credit after %s", shown(v))
	s.Invoices[0].Refunded = 30_00
	s.Void(v)
	expect.Equal(t, s.CreditBalance(), 105_00, "135.00 less 30.00")
}

// A subscription that ends owes what it used.
func TestFinish(t *testing.T) {
	s := monthly(nil)
	s.Change(april.Add(day), quantity(s, 2), true)
	expect.Equal(t, shown(s.Finish()), "Unused time on Gold -29000, Remaining time on Gold 58000, subtotal 29000, discount 0, tax 0, total 29000", "the final invoice")
	s = monthly(nil)
	s.Change(april.Add(day), billmodel.Terms{Plan: "basic", Name: "Basic", Amount: 20_00, Quantity: 1}, true)
	expect.True(t, s.Finish() == nil, "there is a final invoice of unused time")
	expect.Equal(t, s.CreditBalance(), 0, "the credit, which lapses")
}

// drawn is a subscription with any coupon, whose first invoice is paid, refunded in part, unpaid or paid with
// something else.
func drawn(t *rapid.T) *billmodel.Subscription {
	s := &billmodel.Subscription{Terms: billmodel.Terms{Plan: "gold", Name: "Gold", Amount: rapid.Int64Range(1, 90_000).Draw(t, "amount"), Quantity: rapid.Int64Range(1, 5).Draw(t, "quantity")}}
	if rapid.Bool().Draw(t, "taxed") {
		s.Terms.Tax = big.NewRat(rapid.Int64Range(1, 3000).Draw(t, "tax"), 100)
	}
	once := rapid.Bool().Draw(t, "once")
	switch rapid.IntRange(0, 2).Draw(t, "coupon") {
	case 1:
		s.Coupon = &billmodel.Coupon{Percent: big.NewRat(rapid.Int64Range(1, 10_000).Draw(t, "percent"), 100), Once: once}
	case 2:
		s.Coupon = &billmodel.Coupon{Amount: rapid.Int64Range(1, 99_000).Draw(t, "off"), Once: once}
	}
	v := s.Bill(april, april.AddDate(0, 1, 0))
	if rapid.Bool().Draw(t, "paid") {
		pay(v)
	}
	return s
}

func moment(t *rapid.T, from time.Time, s *billmodel.Subscription) time.Time {
	return time.Unix(rapid.Int64Range(from.Unix(), s.End.Unix()-1).Draw(t, "moment"), 0).UTC()
}

// To another quantity and back at one moment costs nothing.
func TestThereAndBackNetsToNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		at := moment(t, april, s)
		was := s.Terms.Quantity
		for range rapid.IntRange(1, 3).Draw(t, "others") {
			s.Change(at, quantity(s, rapid.Int64Range(1, 9).Draw(t, "other")), true)
		}
		s.Change(at, quantity(s, was), true)
		with, plain := next(s), s.Terms.Amount*was
		sum := int64(0)
		for _, l := range with.Lines[:len(with.Lines)-1] {
			sum += l.Amount
		}
		expect.Equal(t, sum, 0, "what waited: %s", shown(with))
		expect.Equal(t, with.Subtotal, plain, "the subtotal of %s", shown(with))
		expect.Equal(t, with.Total, plain-with.Discount+with.Tax, "the total of %s", shown(with))
	})
}

// A customer is never credited more than was charged and kept.
func TestCreditIsAtMostWhatWasKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		first, at := s.Invoices[0], april
		changes := rapid.IntRange(1, 4).Draw(t, "changes")
		refund := rapid.IntRange(0, changes).Draw(t, "refunded after")
		for i := range changes + 1 {
			if i == refund {
				first.Refunded = rapid.Int64Range(0, first.Payment).Draw(t, "refunded")
			}
			if i < changes {
				at = moment(t, at, s)
				s.Change(at, billmodel.Terms{Plan: fmt.Sprint(i), Name: "Other", Amount: rapid.Int64Range(1, 90_000).Draw(t, "price"), Quantity: 1}, true)
			}
		}
		kept := first.Total - first.Refunded
		v := next(s)
		expect.True(t, s.CreditBalance() <= kept, "credit of %d, of %d kept", s.CreditBalance(), kept)
		if l := v.Lines[0]; l.Amount < 0 {
			expect.True(t, -l.Amount <= kept, "%s, of %d kept", shown(v), kept)
		}
	})
}
