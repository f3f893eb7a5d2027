package collect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// topUpRecord is the stored form of a top-up.
type topUpRecord struct {
	payment.TopUp
	orders.Submission
	// Given are the parameters of the call, for its idempotency key.
	Given payment.TopUpParams `json:"given"`
	// OpenKey is the idempotency key, until the call has an answer.
	OpenKey *string `json:"open_key,omitempty"`
	// Number is the whole number, +233…; empty after an erasure.
	Number string `json:"number,omitempty"`
	// ReturnedBy is the code of the refusal that made the top-up Returned.
	ReturnedBy api.Code `json:"returned_by,omitempty"`
	codeAttempts
}

var topUps = storage.NewCollection("top_ups", []storage.Field[topUpRecord]{
	storage.TextColumn("account", func(r *topUpRecord) string { return r.Account }).Indexed(),
	storage.NullTextColumn("open_key", func(r *topUpRecord) *string { return r.OpenKey }),
	orders.DueField(func(r *topUpRecord) *orders.Submission { return &r.Submission }),
}, storage.DueBy("due"), storage.Unique("open_key", "open_key"))

func topUpOperation(p payment.TopUpParams) engine.Operation {
	return engine.Operation{Name: "payment.top_up", Params: p}
}

func (s *Service) TopUp(ctx context.Context, caller api.Caller, p payment.TopUpParams) (*payment.TopUp, error) {
	if caller.Live && caller.Merchant != "" {
		return nil, api.Errorf(api.PermissionDenied, "", "Only the operator may do this in live mode: a caller without Merchant.")
	}
	if p.Account == "" {
		return nil, api.Missing("account_id")
	}
	if err := cmp.Or(check.Pesewas("amount", p.Amount), check.Currency(p.Currency)); err != nil {
		return nil, err
	}
	op := topUpOperation(p)
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*payment.TopUp, error) {
		if s.engine.Host != nil {
			return nil, fmt.Errorf("payment: top up: %w", api.ErrNetworkInTx)
		}
		id, call, answer, err := s.startTopUp(ctx, caller, op, p)
		if err != nil || answer != nil {
			return answer, err
		}
		if call != nil {
			if err := s.engine.Runner.RunNow(ctx, topUps.Kind(), engine.Scope(caller), id, func(ctx context.Context) error { return call.Work(ctx, s.engine, s.topUps.ApplyResult) }); err != nil {
				return nil, err
			}
		}
		return s.answerTopUp(ctx, caller, op, id)
	})
}

// startTopUp writes a top-up, and returns the call of the charger for the caller to make. If this process dies,
// a worker polls for the outcome. The call is nil for a top-up that a worker submits.
//
// If an earlier call with the idempotency key died, startTopUp returns the id of its top-up, and makes no other.
// If an earlier call has stored its answer since the first look, startTopUp returns that as answer.
func (s *Service) startTopUp(ctx context.Context, caller api.Caller, op engine.Operation, p payment.TopUpParams) (id string, call *orders.Call, answer *payment.TopUp, err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
		call = nil
		if answer, err = engine.ReplayTx[payment.TopUp](tx, op); err != nil || answer != nil {
			return err
		}
		known, err := openTopUp(tx, p)
		if err != nil {
			return err
		}
		if id = known; id != "" {
			return nil
		}
		consumer, err := s.config.Accounts.Consumer(tx, caller.Live, p.Account)
		switch {
		case err != nil:
			return err
		case consumer.Status == account.Closed:
			return errWalletClosed()
		}
		if err := consumer.Usable(); err != nil {
			return err
		}
		from := payment.MobileMoney{PhoneNumber: consumer.Phone, Provider: p.Provider}
		if err := from.Check(); err != nil {
			return err
		}
		if err := s.checkTier(tx, consumer, p.Amount); err != nil {
			return err
		}
		id, call, err = s.insertTopUp(tx, p, from)
		return err
	})
	if answer != nil && err == nil {
		caller.MarkReplayed()
	}
	return id, call, answer, err
}

func errWalletClosed() error {
	return api.Errorf(api.AccountNotFound, "account_id", "This wallet is closed. Check the account id and try again.")
}

// openTopUp returns the id of the top-up that an earlier call with the caller's idempotency key began but did
// not answer; "" if there is none. It refuses with idempotency_key_reused if the parameters differ, and with
// idempotency_key_in_use while that call may still run.
func openTopUp(tx *engine.Tx, p payment.TopUpParams) (string, error) {
	key := tx.Caller.IdempotencyKey
	if key == "" {
		return "", nil
	}
	o, err := engine.OrNil(topUps.Find(tx, "open_key", engine.Scope(tx.Caller), key))
	if o == nil || err != nil {
		return "", err
	}
	if o.Value.Given != p {
		return "", api.Errorf(api.IdempotencyKeyReused, "", "This idempotency key was used with another request. Use a new key for a new request, and the same key only to repeat one.")
	}
	if tx.Now.Sub(o.Value.CreatedAt.Time) < orders.WorkLimit {
		return "", api.Errorf(api.IdempotencyKeyInUse, "", "The first request with this idempotency key has not ended yet. Repeat it in a moment.").After(orders.ChargeBackoff[0])
	}
	return o.ID, nil
}

func (s *Service) insertTopUp(tx *engine.Tx, p payment.TopUpParams, from payment.MobileMoney) (id string, call *orders.Call, err error) {
	id = tx.NewID("tu_")
	deadline := api.At(tx.Now.Add(s.config.Deadline))
	r := topUpRecord{
		TopUp: payment.TopUp{
			ID: id, Object: "top_up", Account: p.Account, Amount: p.Amount, Currency: api.Currency, Status: payment.Pending,
			Provider: from.Provider, Livemode: tx.Caller.Live, CreatedAt: api.At(tx.Now),
		},
		Submission: orders.NewSubmission(tx),
		Given:      p, OpenKey: api.TextOrNil(tx.Caller.IdempotencyKey), Number: from.PhoneNumber,
	}
	r.Deadline = &deadline
	by, err := s.topUps.Routed(tx, &r)
	if err != nil {
		return "", nil, err
	}
	if by == nil {
		return "", nil, s.notCharged(tx.Caller.Live, from, p.Amount)
	}
	if err := s.countPrompt(tx, from.PhoneNumber, id, deadline.Time, asker{}); err != nil {
		return "", nil, err
	}
	wait := s.submitAfter(tx, from.PhoneNumber)
	r.Due = api.AtOrNil(tx.Now.Add(wait))
	if wait > 0 {
		return id, nil, s.topUps.Insert(tx, &r, nil, wait)
	}
	call, err = s.topUps.InsertBegun(tx, &r, by)
	return id, call, err
}

// submitAfter returns how long the charger of test mode wants a charge to stay pending, so that a
// tester can look at it; 0 for any other.
func (s *Service) submitAfter(tx *engine.Tx, number string) time.Duration {
	c, ok := s.Charger(tx.Caller.Live).(interface {
		SubmitAfter(provider.Charge) time.Duration
	})
	if !ok || tx.Caller.Live {
		return 0
	}
	return c.SubmitAfter(provider.Charge{Phone: number})
}

// answerTopUp returns the answer of TopUp. ApplyResult has stored that of a completed top-up under the
// idempotency key; answerTopUp stores that of an undecided one.
func (s *Service) answerTopUp(ctx context.Context, caller api.Caller, op engine.Operation, id string) (answer *payment.TopUp, err error) {
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := s.topUps.Get(tx, caller, id)
		if err == nil {
			answer, err = o.Value.answer(tx.ReadTx)
		}
		return err
	})
	if err != nil || answer.Status == payment.Completed || caller.IdempotencyKey == "" {
		return answer, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.TopUp, error) {
		o, err := s.topUps.Get(tx, caller, id)
		if err != nil {
			return nil, err
		}
		if o.Value.OpenKey != nil {
			o.Value.OpenKey = nil
			if err := s.topUps.Write(tx, o); err != nil {
				return nil, err
			}
		}
		return o.Value.answer(tx)
	})
}

// answer returns what TopUp answers for a top-up in its present state.
func (r *topUpRecord) answer(tx storage.ReadTx) (*payment.TopUp, error) {
	switch r.Status {
	case payment.Completed:
		return &r.TopUp, nil
	case payment.Failed:
		return nil, api.Errorf(api.PaymentFailed, "", "%s", *r.FailureReason)
	case payment.Returned:
		return nil, api.Errorf(r.ReturnedBy, "", "%s The money goes back to the payer.", *r.FailureReason)
	}
	balance, err := walletBalance(tx, r.Account, r.Livemode)
	if err != nil {
		return nil, err
	}
	shown := r.TopUp
	shown.Balance = new(api.FromPesewas(balance))
	return &shown, nil
}

var topUpListing = engine.Listing[topUpRecord, payment.TopUp]{
	Collection: topUps, Noun: "top-up", Show: func(r *topUpRecord) payment.TopUp { return r.TopUp },
}

func (s *Service) GetTopUp(ctx context.Context, caller api.Caller, id string) (*payment.TopUp, error) {
	return topUpListing.Get(ctx, s.engine, caller, id)
}

func (s *Service) ListTopUps(ctx context.Context, caller api.Caller, p payment.ListTopUpsParams) (*api.List[payment.TopUp], error) {
	q := storage.Query{Scope: engine.Scope(caller), Where: engine.Where(nil, "account", p.Account)}
	return topUpListing.List(ctx, s.engine, q, p.Page)
}
