package party

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// CloseConsumer closes a consumer's account and removes name, number and PIN from it. It returns the
// service id. An account with money in it is refused with parameter_invalid, and a merchant's caller
// with permission_denied.
func (s *Service) CloseConsumer(ctx context.Context, caller api.Caller, id string) (serviceID string, err error) {
	return closeHolder(ctx, s, caller, id, consumers, "consumer", ledger.Wallet(id, caller.Live), func(c *account.Consumer) *account.Holder { return &c.Holder })
}

// CloseAgent is CloseConsumer for a cash agent.
func (s *Service) CloseAgent(ctx context.Context, caller api.Caller, id string) (serviceID string, err error) {
	return closeHolder(ctx, s, caller, id, agents, "cash agent", ledger.Float(id, caller.Live), func(a *account.Agent) *account.Holder { return &a.Holder })
}

func closeHolder[T any](ctx context.Context, s *Service, caller api.Caller, id string, in *storage.Collection[T], noun string, money ledger.Account, holder func(*T) *account.Holder) (serviceID string, err error) {
	if err := operatorOnly(caller); err != nil {
		return "", err
	}
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := engine.GetTx(tx, in, operator(caller.Live), id, noun)
		if err != nil {
			return err
		}
		if err := checkEmpty(tx, money, "id"); err != nil {
			return err
		}
		h := holder(&o.Value)
		serviceID = h.ServiceID
		h.Status, h.Name, h.Phone = account.Closed, "", ""
		if err := in.Replace(tx, o); err != nil {
			return fmt.Errorf("account: close %s: %w", noun, err)
		}
		p, err := pins.Get(tx, operator(caller.Live), id)
		if err == nil {
			err = pins.Delete(tx, p)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("account: delete PIN: %w", err)
		}
		return nil
	})
	return serviceID, err
}

// checkEmpty refuses to close an account with money in it, which could then be neither paid out nor
// paid with. param is the parameter that asks for it.
func checkEmpty(tx *engine.Tx, money ledger.Account, param string) error {
	b, err := tx.Balance(money.Name)
	if err != nil {
		return fmt.Errorf("account: read balance: %w", err)
	}
	if b.Amount != 0 {
		return api.Invalid(param, "There is money in this account. Pay it out before you close the account.")
	}
	return nil
}
