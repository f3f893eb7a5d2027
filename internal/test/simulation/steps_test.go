package simulation_test

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
)

// What merchants and consumers of a simulation do with codes, transfers and
// invoices.

func (g *game) newCode(s *side) {
	p := qrcode.CreateParams{}
	if g.dice.IntN(2) == 0 {
		p.Type = qrcode.Dynamic
		limit := 1 + g.dice.Int64N(3)
		p.UsageLimit = &limit
	}
	if g.dice.IntN(2) == 0 {
		amount := 1 + g.dice.Int64N(90_00)
		p.Amount = &amount
	}
	g.keep(&s.codes, "create code", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.QRCodes.Create(g.t.Context(), c, p))
	})
}

func (g *game) pin() string {
	if g.dice.IntN(8) == 0 {
		return "9999"
	}
	return "1234"
}

func (g *game) payCode(s *side) {
	if code := pick(g, s.codes); code != "" && !s.gone[code] {
		g.payCodeFromWallet(s, code)
	}
}

// amountOf is what a payer enters for a code.
func (g *game) amountOf(s *side, code string) *int64 {
	if has, err := g.svc.QRCodes.Get(g.t.Context(), s.caller, code); err != nil || has.Amount != nil {
		return nil
	}
	return new(1 + g.dice.Int64N(90_00))
}

func (g *game) payCodeFromWallet(s *side, code string) {
	p := qrcode.PayParams{Wallet: account.WalletRef{AccountID: pick(g, s.consumers)}, PIN: g.pin(), Amount: g.amountOf(s, code)}
	g.keep(&s.payments, "pay code", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.QRCodes.Pay(g.t.Context(), c, code, p))
	})
}

func (g *game) destination(s *side) payout.DestinationParams {
	switch g.dice.IntN(4) {
	case 0:
		return payout.DestinationParams{Type: payout.ServiceWallet, AccountID: pick(g, s.consumers)}
	case 1:
		return payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "1234567890", BankCode: "300304"}
	}
	return payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"}
}

func (g *game) disburse(s *side) {
	g.disburseTo(s, 1+g.dice.Int64N(90_00), g.destination(s))
}

func (g *game) disburseTo(s *side, pesewas int64, to payout.DestinationParams) {
	p := disbursement.CreateParams{Amount: decimal.New(pesewas, -2), Destination: to}
	g.keep(&s.transfers, "disburse", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Disbursements.Create(g.t.Context(), c, p))
	})
}

// payOut asks for a code, verifies it and uses it. The code is read in test mode.
func (g *game) payOut(*side) {
	ctx, s := g.t.Context(), g.sides[0]
	_, err := g.call("request code", s, func(c api.Caller) (string, error) {
		return "", second(g.svc.Payouts.RequestOTP(ctx, c, payout.ForPayout))
	})
	if err != nil {
		return
	}
	list := must.Get(g.svc.Messages.List(ctx, s.caller, message.ListParams{To: "0301000000", Kind: message.KindSMS}))(g.t)
	code := ""
	for _, m := range list.Data {
		if strings.Contains(m.Text, "code to confirm") {
			code = m.Text[:6]
			break
		}
	}
	if g.dice.IntN(8) == 0 {
		code = "000000"
	}
	_, err = g.call("verify code", s, func(c api.Caller) (string, error) {
		return "", second(g.svc.Payouts.VerifyOTP(ctx, c, payout.OTPParams{Purpose: payout.ForPayout, Code: code}))
	})
	if err != nil {
		return
	}
	p := payout.CreateParams{Amount: decimal.New(100+g.dice.Int64N(90_00), -2), Destination: g.destination(s), OTPCode: code}
	id, err := g.call("pay out", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Payouts.Create(ctx, c, p))
	})
	if err == nil {
		s.transfers = append(s.transfers, id)
		g.payouts[id] = true
	}
}

func (g *game) bill(s *side) {
	price := g.dice.Int64N(80_00)
	p := invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &price}}}, AutoFinalize: true}
	switch g.dice.IntN(3) {
	case 0:
		automatic := invoice.ChargeAutomatically
		p.CollectionMethod = &automatic
		if g.dice.IntN(2) == 0 {
			number := pick(g, s.numbers)
			p.Phone = &number
		}
	case 1:
		due := g.now.Add(time.Duration(1+g.dice.IntN(30)) * 24 * time.Hour)
		if !s.caller.Live {
			due = due.Add(g.ahead)
		}
		number := "0249999999"
		p.DueDate, p.Phone = &due, &number
	}
	if who := g.customer(s); who != nil && g.dice.IntN(2) == 0 {
		p.Customer, p.AutoFinalize = &who.id, g.dice.IntN(3) > 0
	}
	g.discount(s, &p)
	g.keep(&s.invoices, "bill", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Invoices.Create(g.t.Context(), c, p))
	})
}

// collect does something to an invoice.
func (g *game) collect(s *side) {
	ctx, id := g.t.Context(), pick(g, s.invoices)
	if id == "" {
		return
	}
	name, do := "void", g.svc.Invoices.Void
	switch g.dice.IntN(8) {
	case 0:
	case 6, 7:
		name, do = "finalize", g.svc.Invoices.Finalize
	case 1:
		name, do = "mark uncollectible", g.svc.Invoices.MarkUncollectible
	case 2, 3:
		g.payInvoiceFromWallet(s, id)
		return
	default:
		g.charge(s, id)
		return
	}
	_, _ = g.call(name, s, func(c api.Caller) (string, error) { return id, second(do(ctx, c, id)) })
}

func (g *game) payInvoiceFromWallet(s *side, id string) {
	wallet, pin := account.WalletRef{AccountID: pick(g, s.consumers)}, g.pin()
	_, _ = g.call("pay invoice from a wallet", s, func(c api.Caller) (string, error) {
		return id, second(g.svc.Invoices.PayFromWallet(g.t.Context(), c, id, invoice.PayFromWalletParams{Wallet: wallet, PIN: pin}))
	})
}

func (g *game) charge(s *side, id string) {
	_, _ = g.call("charge", s, func(c api.Caller) (string, error) {
		return id, second(g.svc.Invoices.Pay(g.t.Context(), c, id, invoice.PayParams{}))
	})
}
