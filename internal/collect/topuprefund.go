package collect

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// topUpRefund gives back the money of a top-up that the wallet could not take. It is no merchant's
// refund: package refunding does not know it, and it has no events.
type topUpRefund struct {
	ID      string `json:"id"` // re_…
	TopUp   string `json:"top_up"`
	Account string `json:"account_id"`
	// Amount is in pesewas.
	Amount int64 `json:"amount"`
	// Status is pending, processing, completed or failed.
	Status            payment.Status `json:"status"`
	ProviderReference *string        `json:"provider_reference,omitempty"`
	FailureReason     *string        `json:"failure_reason,omitempty"`
	CreatedAt         api.Time       `json:"created_at"`
	CompletedAt       *api.Time      `json:"completed_at,omitempty"`
	orders.Submission
	// Number is the payer's, +233…; empty after an erasure.
	Number  string `json:"number,omitempty"`
	Network string `json:"network"`
}

var topUpRefunds = storage.NewCollection("top_up_refunds", []storage.Field[topUpRefund]{
	orders.DueField(func(r *topUpRefund) *orders.Submission { return &r.Submission }),
}, storage.DueBy("due"))

// topUpRefundOrders are the refunds of top-ups as orders.
type topUpRefundOrders struct {
	*orders.Orders[topUpRefund]
	svc *Service
}

func newTopUpRefundOrders(s *Service) *topUpRefundOrders {
	o := &topUpRefundOrders{svc: s}
	o.Orders = &orders.Orders[topUpRefund]{
		Flow: orders.Refunds, Records: topUpRefunds, Object: "top_up_refund", Noun: "refund", Keep: s.engine.NumberRetention, Rules: o,
	}
	o.Apply = o.ApplyResult
	return o
}

// TopUpRefunds returns the orders of top-ups' refunds, for package orders, which drives them.
func (s *Service) TopUpRefunds() *topUpRefundOrders { return s.topUpRefunds }

// refundTopUp queues the refund of a top-up. The caller writes the top-up.
func (s *Service) refundTopUp(tx *engine.Tx, r *topUpRecord) error {
	back := topUpRefund{
		ID: tx.NewID("re_"), TopUp: r.ID, Account: r.Account, Amount: r.Amount, Status: payment.Pending, CreatedAt: api.At(tx.Now),
		Submission: orders.NewSubmission(tx), Number: r.Number, Network: r.Provider,
	}
	back.Route, r.Refund = r.Route, &back.ID
	return s.topUpRefunds.Insert(tx, &back, nil, 0)
}

// State implements [orders.Rules].
func (*topUpRefundOrders) State(r *topUpRefund) orders.State {
	return orders.State{
		Submission: &r.Submission, ID: r.ID, Amount: r.Amount, Network: r.Network, CreatedAt: r.CreatedAt,
		Recorded:  orders.Recorded{Outcome: outcomeOf(r.Status), Status: string(r.Status)},
		Reference: r.ProviderReference, SetReference: func(to *string) { r.ProviderReference = to }, Forget: r.forgetNumber,
	}
}

func (r *topUpRefund) forgetNumber() { r.Number = "" }

// Provider implements [orders.Rules].
func (s *topUpRefundOrders) Provider(tx *engine.Tx, r *topUpRefund, _ provider.Order) (*orders.Provider, error) {
	return orders.RefundBy(s.svc.RefundRail(tx.Caller.Live, r.Route), provider.Refund{
		Charge: r.TopUp, Phone: r.Number, Network: r.Network, PaymentMethod: payment.FromPhone, Reason: "The wallet could not take the top-up.",
	}), nil
}

// Processing implements [orders.Rules].
func (*topUpRefundOrders) Processing(_ *engine.Tx, r *topUpRefund) error {
	r.Status = payment.Processing
	return nil
}

// Waiting implements [orders.Rules].
func (*topUpRefundOrders) Waiting(*engine.Tx, *topUpRefund, provider.Result) error { return nil }

// Ending implements [orders.Rules]. A consumer who was erased gets no message.
func (s *topUpRefundOrders) Ending(tx *engine.Tx, r *topUpRefund) error {
	erased, err := s.svc.erased(tx, r.Account)
	if erased {
		r.forgetNumber()
	}
	return err
}

// Paid implements [orders.Rules].
func (s *topUpRefundOrders) Paid(_ context.Context, tx *engine.Tx, r *topUpRefund, providerFee int64) error {
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: "refund_settled", Ref: r.ID, At: tx.Now,
		Moves: append(
			orders.Refunds.ClearingMoves(r.Route, tx.Caller.Live, r.Amount, providerFee),
			ledger.Excess(tx.Caller.Live).Move(-r.Amount),
		),
	})
	if err != nil {
		return fmt.Errorf("payment: book refund of a top-up: %w", err)
	}
	r.Status, r.CompletedAt = payment.Completed, api.AtOrNil(tx.Now)
	return s.svc.config.Messages.Text(tx, r.Account, r.Number, fmt.Sprintf("You got back GHS %s of top-up %s, which your wallet could not take. Refund %s.", money.Text(r.Amount), r.TopUp, r.ID))
}

// Refused implements [orders.Rules]. The money stays in the excess, and a person must look after it.
func (s *topUpRefundOrders) Refused(ctx context.Context, tx *engine.Tx, r *topUpRefund, result provider.Result) error {
	r.Status, r.FailureReason = payment.Failed, orders.FailureReason(result, "The provider declined the refund.")
	return s.svc.topUps.NeedsPerson(ctx, tx, r.TopUp, orders.Cause{Problem: orders.RefundFailed}, "paid, the wallet could not take it, and its refund failed")
}

// Ended implements [orders.Rules].
func (*topUpRefundOrders) Ended(*engine.Tx, *topUpRefund) error { return nil }

// Load returns the top-up as hosts see it, and the status of its refund as a word.
func (s *topUpRefundOrders) Load(tx *engine.Tx, ref orders.Ref) (object any, status string, err error) {
	back, err := s.Get(tx, tx.Caller, ref.ID)
	if err != nil {
		return nil, "", err
	}
	o, err := s.svc.topUps.Get(tx, tx.Caller, back.Value.TopUp)
	if err != nil {
		return nil, "", err
	}
	return &o.Value.TopUp, string(back.Value.Status), nil
}
