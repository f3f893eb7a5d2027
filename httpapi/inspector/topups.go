package inspector

import (
	"cmp"

	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/payment"
)

// topUpNoun has pages that tell what the records say: top-ups have no events.
var topUpNoun = &noun[payment.TopUp]{
	path: "top-ups", prefix: "tu", way: "from ", one: "Top-up", many: "Top-ups", heads: [5]string{"Consumer", "Amount", "Status", "Reason", "Time"},
	loud: true, ordered: true, empty: "What this merchant's calls move from consumers' phones into their wallets stands here.",
	reads: func(v *visit) reader[payment.TopUp] {
		return reading(v.svc.Payments.ListTopUps, v.svc.Payments.GetTopUp)
	},
	row: func(v *visit, t *payment.TopUp) row {
		return row{Href: v.url("top-ups", t.ID), Title: cmp.Or(v.rowOf("", t.Account).Title, "A consumer"), Below: network(&t.Provider), Amount: cedis(t.Amount), Badge: state(t.Status), For: look.Text(t.FailureReason), At: t.CreatedAt}
	},
	page: (*visit).topUpPage,
}

func (v *visit) topUpPage(t *payment.TopUp, p *page) {
	with := network(&t.Provider)
	p.Sentence = sentence("From the phone of %s into the wallet, %s", p.row.Title, v.when(t.CreatedAt))
	said, turns := v.attempts(with, t.ProviderReference, t.CompletedAt)
	turns = append(turns, turn{At: t.CreatedAt, Title: "Asked " + with + " to charge the phone", Source: "API"})
	if t.CompletedAt != nil {
		turns = append(turns, turn{At: *t.CompletedAt, Title: "In the wallet", Source: with, Tone: "good", Text: said})
	}
	p.Live = []section{inOrder(whatHappened, turns)}
	p.Side = []section{
		{Title: "Money", Money: facts("Amount", p.Amount)},
		{Title: "Details", Facts: facts("Consumer", v.linked("consumers", &t.Account), "Failure", t.FailureReason, "Refund", id(look.Text(t.Refund)), "Top-up", id(t.ID), "At provider", id(look.Text(t.ProviderReference)))},
	}
	if t.Status == payment.Pending || t.Status == payment.Processing {
		p.Forms = outcomes("the payer", "approve", "decline", facts("From", p.row.Title, "Taken", cedis(0)))
	}
}
