package subscribing

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// Of the credits that an invoice below zero has, it uses the oldest first. The rest belongs to the newest.
func TestKeptCreditBelongsToNewestInvoice(t *testing.T) {
	for rest, want := range map[int64][]credit{
		20:  {{Invoice: "b", Full: 60, Worth: 50, Used: 30}},
		80:  {{Invoice: "a", Full: 100, Worth: 100, Used: 70}, {Invoice: "b", Full: 60, Worth: 50}},
		150: {{Invoice: "a", Full: 100, Worth: 100}, {Invoice: "b", Full: 60, Worth: 50}},
	} {
		r := &record{Waiting: []waitingLine{{Amount: -100, Invoice: "a", Full: 100}, {Amount: 70}, {Amount: -50, Invoice: "b", Full: 60}}}
		r.keepCredit(rest)
		expect.Equal(t, r.CreditBalance, rest, "the balance")
		expect.Same(t, r.Credits, want, "the credits of %d", rest)
	}
}

// An invoice uses first the credit that belongs to no invoice, which is older, and then the oldest of the others.
func TestOldestCreditIsUsedFirst(t *testing.T) {
	for amount, want := range map[int64][]usedCredit{
		40:  nil,
		50:  {{"a", 10}},
		110: {{"a", 60}, {"b", 10}},
	} {
		r := &record{Credits: []credit{{Invoice: "a", Full: 100, Worth: 80, Used: 20}, {Invoice: "b", Full: 30, Worth: 30}}}
		r.CreditBalance = 40 + 60 + 30
		expect.Same(t, r.useCredit(amount), want, "what %d has used", amount)
		expect.Equal(t, r.CreditBalance, 130-amount, "the balance")
	}
}
