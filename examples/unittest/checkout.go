// Package checkout is the code of a host, an online shop: customers pay orders by QR code or from
// their phones, and the shop pays its suppliers from the balance. Its test is the example: it runs the
// payment service in memory, and takes a fraction of a second.
package checkout

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/webhook"
)

// orderLife is for how long an order can be paid.
const orderLife = 15 * time.Minute

// Shop keeps orders and bills. A real one keeps them in a database.
type Shop struct {
	svc *payments.Service
	// merchant stands for the shop in calls of the service.
	merchant api.Caller

	reading sync.Mutex // of disbursements

	mu     sync.Mutex
	orders map[string]string // the payment of each order that is paid
	failed map[string]string // why the last payment of an order failed
	sent   map[string]string // the disbursement of each supplier's bill
	bills  map[string]string // the status of each supplier's bill
}

// New returns a shop without orders.
func New(svc *payments.Service, merchant api.Caller) *Shop {
	return &Shop{
		svc: svc, merchant: merchant, orders: map[string]string{}, failed: map[string]string{},
		sent: map[string]string{}, bills: map[string]string{},
	}
}

// Checkout returns a QR code with which an order of so many pesewas can be paid once, until some time
// after it was placed. It may be called again with the same order, as after a time-out: the order is
// the idempotency key. All that is sent follows from the order, so that the call is the same one.
func (s *Shop) Checkout(ctx context.Context, order string, pesewas int64, placed time.Time) (*qrcode.QRCode, error) {
	caller := s.merchant
	caller.IdempotencyKey = "checkout-" + order
	code, err := s.svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{
		Type: qrcode.Dynamic, Amount: &pesewas, Name: "Order " + order, Reference: order, ExpiresAt: placed.Add(orderLife),
	})
	if err != nil {
		return nil, fmt.Errorf("checkout of order %s: %w", order, err)
	}
	return code, nil
}

// AskPhone asks the customer's phone to pay an order, which Checkout gave a code. The outcome comes by
// webhook. Each attempt has a number of its own: the same one again asks only once. The phone pays the
// code, so a customer who scans it, too, does not pay twice.
func (s *Shop) AskPhone(ctx context.Context, order, code string, attempt int, phone string) (*payment.Payment, error) {
	caller := s.merchant
	caller.IdempotencyKey = fmt.Sprintf("phone-%s-%d", order, attempt)
	p, err := s.svc.QRCodes.Pay(ctx, caller, code, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: phone}})
	if err != nil {
		return nil, fmt.Errorf("ask for order %s: %w", order, err)
	}
	return p, nil
}

// PayBill sends a supplier GHS by mobile money. The outcome comes by webhook. A second call pays nothing
// twice: the idempotency key sees to that for 30 days, and the shop's own record from then on.
func (s *Shop) PayBill(ctx context.Context, bill, phone string, ghs decimal.Decimal) (string, error) {
	if id := s.get(s.sent, bill); id != "" {
		return id, nil
	}
	caller := s.merchant
	caller.IdempotencyKey = "bill-" + bill
	sent, err := s.svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{
		Amount: ghs, Reference: bill,
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: phone},
	})
	if err != nil {
		return "", fmt.Errorf("pay bill %s: %w", bill, err)
	}
	s.set(s.sent, bill, sent.ID)
	return sent.ID, nil
}

// Webhooks returns the handler of the shop's webhooks. After an error the service delivers
// the event again. Events come in any order. A provider may take a paid bill back, and an order may be
// paid twice. So the shop reads the disbursement or the payment as it is now.
func (s *Shop) Webhooks(secret string) http.Handler {
	return webhook.Handler(secret, nil, func(ctx context.Context, e event.Event) error {
		switch e.Type {
		case event.PaymentSucceeded, event.PaymentFailed:
			var p payment.Payment
			if err := json.Unmarshal(e.Data.Object, &p); err != nil {
				return err
			}
			if p.Status != payment.Completed {
				s.set(s.failed, p.Reference, *p.FailureReason)
				return nil
			}
			// The service gives back what a customer pays a second time, such as on a phone that approves late.
			now, err := s.svc.Payments.Get(ctx, s.merchant, p.ID)
			if err != nil {
				return err
			}
			if now.AmountRefunded < now.Amount {
				s.setOnce(s.orders, p.Reference, p.ID)
			}
		case "disbursement.completed", "disbursement.failed":
			var d payout.Transfer
			if err := json.Unmarshal(e.Data.Object, &d); err != nil {
				return err
			}
			s.reading.Lock() // one at a time, so that no older answer overwrites a newer one
			defer s.reading.Unlock()
			now, err := s.svc.Disbursements.Get(ctx, s.merchant, d.ID)
			if err != nil {
				return err
			}
			s.set(s.bills, *now.Reference, string(now.Status)) // every disbursement has one
		}
		return nil
	})
}

func (s *Shop) set(in map[string]string, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in[name] = value
}

// setOnce is set for what has no value yet.
func (s *Shop) setOnce(in map[string]string, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in[name] == "" {
		in[name] = value
	}
}

func (s *Shop) get(from map[string]string, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return from[name]
}

// Paid returns the payment of an order; empty while it is not paid.
func (s *Shop) Paid(order string) string { return s.get(s.orders, order) }

// Failed returns why the last payment of an order failed; empty if none has.
func (s *Shop) Failed(order string) string { return s.get(s.failed, order) }

// Bill returns the status of a supplier's bill; empty while it is not known.
func (s *Shop) Bill(bill string) string { return s.get(s.bills, bill) }
