package providers

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
)

// moneyIn makes and books the charges of payments from phones. It asks what is paid, such as an
// invoice, whether it accepts the money, and gives back the money that it does not accept.
type moneyIn struct {
	payments *payment.Internal
	codes    *qrcode.Internal
	invoices *invoice.Internal
	sessions *checkout.Internal
	refunds  *refund.Internal
}

// paidTwice is the reason of a refund that no merchant made.
const paidTwice = "Paid twice"

func (m *moneyIn) FindOwnOrder(ctx context.Context, caller api.Caller, id string) (dispatch.Ref, error) {
	return dispatch.Ref{Object: "payment", ID: id, Record: id}, m.payments.CheckFromPhone(ctx, caller, id)
}

func (m *moneyIn) Begin(ctx context.Context, tx *engine.Tx, object, id string) (*dispatch.Call, error) {
	call, ended, err := m.payments.Begin(ctx, tx, object, id)
	if err == nil && ended != nil {
		err = m.tell(tx, ended)
	}
	return call, err
}

func (m *moneyIn) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, r provider.Result) (dispatch.Decision, error) {
	p, err := m.payments.Incoming(tx, ref.ID)
	if err != nil {
		return 0, err
	}
	taken := true
	if r.Outcome == provider.Paid && !p.Ended {
		if taken, err = m.takes(tx, p); err != nil {
			return 0, err
		}
	}
	decision, ended, err := m.payments.Book(ctx, tx, ref, r, taken)
	switch {
	case err == nil && decision == dispatch.Reversed:
		return decision, bookReversed(ctx, tx, m.refunds, ref, ref.ID)
	case err != nil || ended == nil:
		return decision, err
	case !taken:
		return decision, m.giveBack(ctx, tx, ended)
	}
	return decision, m.tell(tx, ended)
}

// invoiceCharges books the charges of invoices that were made without a phone.
type invoiceCharges struct {
	*invoice.Internal
	refunds *refund.Internal
}

func (c *invoiceCharges) Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, r provider.Result) (dispatch.Decision, error) {
	decision, err := c.Internal.Book(ctx, tx, ref, r)
	if err != nil || decision != dispatch.Reversed {
		return decision, err
	}
	payment, err := c.PaidBy(tx, engine.Scope(tx.Caller), ref.Record)
	if err != nil {
		return decision, err
	}
	return decision, bookReversed(ctx, tx, c.refunds, ref, payment)
}

// bookReversed books that the provider took the payment of a charge back. After a refund a person must
// find out who has the money.
func bookReversed(ctx context.Context, tx *engine.Tx, refunds *refund.Internal, ref dispatch.Ref, payment string) error {
	refunded, err := refunds.Reversed(ctx, tx, payment)
	if err != nil || refunded == 0 {
		return err
	}
	order := dispatch.Order{Ref: ref, Flow: dispatch.Charges}
	return order.NeedsPerson(ctx, tx, fmt.Sprintf("reversed, and GHS %s refunded before", money.Text(refunded)))
}

// takes reports whether what is paid accepts the payment.
func (m *moneyIn) takes(tx *engine.Tx, p *payment.Incoming) (bool, error) {
	switch {
	case p.QRCode != nil:
		return m.codes.TakesPayment(tx, p)
	case p.CheckoutSession != nil:
		return m.sessions.TakesPayment(tx, p)
	case p.Invoice != nil:
		return m.invoices.TakesPayment(tx, p)
	}
	return true, nil
}

// tell tells what was to be paid how its payment has ended.
func (m *moneyIn) tell(tx *engine.Tx, p *payment.Ended) error {
	defer m.payments.AttributeEvents(tx, p)()
	switch {
	case p.QRCode != nil && p.Status == payment.Completed:
		return m.codes.CountUse(tx, *p.QRCode)
	case p.CheckoutSession != nil:
		return m.sessions.PaymentEnded(tx, p)
	case p.Invoice != nil:
		return m.invoices.PaymentEnded(tx, p)
	}
	return nil
}

// giveBack refunds a payment that came too late. Where no refund is possible, a person must look
// after it.
func (m *moneyIn) giveBack(ctx context.Context, tx *engine.Tx, p *payment.Ended) error {
	defer m.payments.AttributeEvents(tx, p)()
	if m.payments.RefundRail(tx.Caller.Live, p.Route()) == nil {
		return m.payments.NeedsPerson(ctx, tx, p.ID, "completed, paid twice, and the provider gives no refunds")
	}
	id := p.ID
	tx.OnCommit(func() {
		tx.Log().WarnContext(ctx, "a payment came when there was nothing left to pay, and is refunded", "payment", id)
	})
	return m.refunds.Automatic(tx, p.ID, paidTwice)
}

func (m *moneyIn) Load(tx *engine.Tx, ref dispatch.Ref) (object any, status string, err error) {
	return m.payments.Load(tx, ref.ID)
}

func (m *moneyIn) Info(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) (*provider.OrderInfo, error) {
	return m.payments.Info(tx, ref, e)
}
