package simulation_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// The payments from phones of a simulation, and the callbacks of the world.

// collectionFees are the operator's for payments from phones.
var collectionFees = &payment.Fees{
	MTN:     payment.Fee{Percent: decimal.NewFromInt(1), Min: decimal.New(10, -2)},
	Telecel: payment.Fee{Flat: decimal.New(5, -2), Percent: decimal.New(25, -1), Cap: decimal.New(1, 0)},
}

// numbersOf are the phones of a side's payers. Masked, they differ, too.
func numbersOf(side int) (numbers []string) {
	for _, phone := range []string{"0242000%d11", "0202000%d12", "0272000%d13", "0552000%d14", "0242000%d17"} {
		numbers = append(numbers, fmt.Sprintf(phone, side))
	}
	return numbers
}

func (g *game) mobileMoney(s *side) payment.MobileMoney {
	from := payment.MobileMoney{PhoneNumber: pick(g, s.numbers)}
	if g.dice.IntN(4) == 0 {
		from.Provider = "telecel" // the number was ported
	}
	return from
}

// stepOfPhones does something with payments from phones.
func (g *game) stepOfPhones(s *side) {
	ctx := g.t.Context()
	switch g.dice.IntN(13) {
	case 12:
		g.release(s)
	case 0, 1:
		g.payFromPhone(s)
	case 2, 3:
		if code := pick(g, s.codes); code != "" && !s.gone[code] {
			g.payCodeFromPhone(s, code)
		}
	case 4, 5:
		g.rush(s)
	case 6:
		if id := pick(g, s.invoices); id != "" {
			g.payInvoiceFromPhone(s, id)
		}
	case 7:
		if id := g.phoned(s, payment.Pending); id != "" {
			_, _ = g.call("cancel payment", s, func(c api.Caller) (string, error) {
				return id, second(g.svc.Payments.Cancel(ctx, c, id))
			})
		}
	case 8:
		if id := g.phoned(s, payment.Pending, payment.Processing); id != "" {
			g.leave(s, id)
		}
	case 9:
		g.confirm(s)
	case 10:
		g.settlePayment()
	default:
		g.forge(s)
	}
}

// phoned is the id of a payment from a phone, most often one of these statuses; empty if there is
// none.
func (g *game) phoned(s *side, statuses ...payment.Status) string {
	var all, those []string
	for _, p := range g.paymentsOf(s.caller) {
		if p.PaymentMethod != payment.FromPhone {
			continue
		}
		all = append(all, p.ID)
		for _, is := range statuses {
			if p.Status == is {
				those = append(those, p.ID)
			}
		}
	}
	if len(those) > 0 && g.dice.IntN(4) > 0 {
		return pick(g, those)
	}
	return pick(g, all)
}

func (g *game) payFromPhone(s *side) {
	p := payment.CreateParams{Amount: 1 + g.dice.Int64N(90_00), MobileMoney: g.mobileMoney(s)}
	if who := g.customer(s); who != nil && g.dice.IntN(2) == 0 {
		p.Customer = who.id
	}
	g.keep(&s.phoned, "pay from phone", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Payments.Create(g.t.Context(), c, p))
	})
}

func (g *game) payCodeFromPhone(s *side, code string) string {
	p := qrcode.PayParams{MobileMoney: g.mobileMoney(s), Amount: g.amountOf(s, code)}
	return g.keep(&s.payments, "pay code from phone", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.QRCodes.Pay(g.t.Context(), c, code, p))
	})
}

// rush lets several payers pay one code, invoice or session.
func (g *game) rush(s *side) {
	pay := g.payerOfCode(s)
	switch g.dice.IntN(3) {
	case 0:
		pay = g.payerOfInvoice(s)
	case 1:
		pay = g.payerOfSession(s)
	}
	if pay != nil {
		g.crowd(s, pay)
	}
}

// crowd lets several payers pay one thing, at once or one after the other has gone away.
func (g *game) crowd(s *side, pay func() string) {
	for range 2 + g.dice.IntN(3) {
		id := pay()
		switch g.dice.IntN(5) {
		case 0:
			g.drain()
			if id != "" {
				g.leave(s, id)
			}
		case 1:
			g.drain()
			g.now = g.now.Add(11 * time.Minute) // the hold is over
		case 2:
			g.drain()
		}
	}
}

// payerOfCode returns what lets the next payer pay a code with a limit, and returns the id of the
// payment; nil if there is no code.
func (g *game) payerOfCode(s *side) func() string {
	var limited []string
	for _, q := range g.codesOf(s.caller) {
		if q.UsageLimit != nil && q.Active {
			limited = append(limited, q.ID)
		}
	}
	code := pick(g, limited)
	if code == "" {
		return nil
	}
	return func() string {
		if g.dice.IntN(4) == 0 {
			g.payCodeFromWallet(s, code)
			return ""
		}
		return g.payCodeFromPhone(s, code)
	}
}

// payerOfInvoice is payerOfCode for an open invoice.
func (g *game) payerOfInvoice(s *side) func() string {
	var open []string
	for _, i := range g.invoicesOf(s.caller) {
		if i.Status == invoice.Open {
			open = append(open, i.ID)
		}
	}
	id := pick(g, open)
	if id == "" {
		return nil
	}
	return func() string {
		switch g.dice.IntN(5) {
		case 0:
			g.payInvoiceFromWallet(s, id)
		case 1:
			g.charge(s, id)
		default:
			return g.payInvoiceFromPhone(s, id)
		}
		return ""
	}
}

func (g *game) leave(s *side, id string) {
	_, err := g.call("leave payment", s, func(c api.Caller) (string, error) { return id, g.svc.Payments.Leave(g.t.Context(), c, id) })
	expect.NoError(g.t, err, "leave %s", id)
	s.left[id] = true
}

// release has the merchant end the hold of a payment, which goes on without it.
func (g *game) release(s *side) {
	id := g.phoned(s, payment.Pending, payment.Processing)
	if id == "" {
		return
	}
	_, err := g.call("release payment", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Payments.Release(g.t.Context(), c, id))
	})
	is := must.Get(g.svc.Payments.Get(g.t.Context(), s.caller, id))(g.t)
	if code := api.CodeOf(err); err != nil {
		expect.Equal(g.t, code, api.PaymentNotReleasable, "release %s: %v", id, err)
		return
	}
	expect.True(g.t, is.HoldExpiresAt == nil, "%s is released, and holds until %v", id, is.HoldExpiresAt)
	s.left[id] = true
}

// payInvoiceFromPhone returns the id of the payment, if the call does.
func (g *game) payInvoiceFromPhone(s *side, id string) string {
	ctx, from := g.t.Context(), g.mobileMoney(s)
	if g.dice.IntN(3) == 0 {
		_, _ = g.call("pay invoice from phone", s, func(c api.Caller) (string, error) {
			return id, second(g.svc.Invoices.Pay(ctx, c, id, invoice.PayParams{MobileMoney: from}))
		})
		return ""
	}
	started, _ := g.call("start payment", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Invoices.StartPayment(ctx, c, id, from))
	})
	return started
}

// confirm enters a code where one is asked for.
func (g *game) confirm(s *side) {
	var asking []string
	for _, p := range g.paymentsOf(s.caller) {
		if p.NextAction != nil && p.NextAction.Type == payment.EnterCode {
			asking = append(asking, p.ID)
		}
	}
	id, code := pick(g, asking), rightCode
	if g.dice.IntN(3) == 0 {
		code = "000000"
	}
	if id == "" {
		return
	}
	_, _ = g.call("confirm payment", s, func(c api.Caller) (string, error) {
		return id, second(g.svc.Payments.Confirm(g.t.Context(), c, id, payment.ConfirmParams{Code: code}))
	})
}

// settlePayment decides a payment of test mode by hand, and the world agrees.
func (g *game) settlePayment() {
	s := g.sides[0]
	id := g.phoned(s, payment.Pending, payment.Processing)
	p, err := g.svc.Payments.Get(g.t.Context(), s.caller, id)
	if err != nil || p.Status != payment.Pending && p.Status != payment.Processing {
		return
	}
	o := g.world.orders[id]
	if o == nil {
		o = &order{amount: p.Amount, phone: &prompt{}}
		g.world.orders[id] = o
	}
	if !o.decided {
		if o.decided, o.paid = true, g.dice.IntN(2) == 0; o.paid {
			o.moved++
		}
	}
	result := o.chargeResult(id)
	result.PollAfter = 0
	_, err = g.call("settle payment", s, func(c api.Caller) (string, error) {
		return id, g.svc.Providers.Settle(g.t.Context(), c, id, result)
	})
	if err == nil {
		g.world.reported(id, result)
	} else {
		expect.Equal(g.t, api.CodeOf(err), api.PaymentNotSettleable, "settle %s: %v", id, err)
	}
}

// forge reports what is unknown, or to whom it does not belong. Nothing comes of it.
func (g *game) forge(s *side) {
	ctx, paid := g.t.Context(), provider.Result{Outcome: provider.Paid}
	err := g.svc.Providers.Notify(ctx, "pay_"+strings.Repeat("0", 22), paid)
	expect.Equal(g.t, api.CodeOf(err), api.ResourceMissing, "callback of an unknown id: %v", err)
	id := g.phoned(s, payment.Processing)
	if id == "" {
		return
	}
	err = g.svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.NotFound})
	expect.Equal(g.t, api.CodeOf(err), api.ParameterInvalid, "callback without an outcome: %v", err)
	for _, other := range []api.Caller{{Merchant: s.caller.Merchant, Live: !s.caller.Live}, g.sides[0].caller} {
		if other == s.caller {
			continue
		}
		err := g.svc.Providers.Settle(ctx, other, id, paid)
		code := api.CodeOf(err)
		expect.True(g.t, code == api.ResourceMissing || other.Live && code == api.PermissionDenied, "%s is settled by another: %v", id, err)
	}
	g.played["forged"]++
}

// callBack delivers the callbacks of the world.
func (g *game) callBack() {
	g.world.contradictAll()
	pending := g.world.callbacks
	g.world.callbacks = nil
	for _, id := range pending {
		o, result := g.world.orders[id], provider.Result{}
		switch {
		case strings.HasPrefix(id, "att_"): // the charger is asked about an invoice, and makes no callback
			continue
		case strings.HasPrefix(id, "re_"):
			result = o.refundResult(id)
		case strings.HasPrefix(id, "pay_"):
			result = o.chargeResult(id)
		default:
			result = o.result(id)
		}
		err := g.svc.Providers.Notify(g.t.Context(), id, result)
		g.history = append(g.history, fmt.Sprint("callback ", id, " ", result.Outcome, " ", err))
		if o.phone != nil {
			g.world.reported(id, result)
			if o.phone.contradicts && errors.Is(err, provider.ErrContradicted) {
				continue
			}
		}
		expect.NoError(g.t, err, "callback of %s", id)
	}
}
