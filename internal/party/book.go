package party

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// ReadEntries returns the balance of a ledger account at the end of a period. Unless fn is nil, it runs
// fn on the entries of the period, the oldest first. It reads in small steps, each in a View of e of its
// own. All entries of the account must have the times of one clock.
func (s *Service) ReadEntries(ctx context.Context, e *engine.Engine, of ledger.Account, period api.Times, fn func(*storage.Entry) error) (balance int64, err error) {
	var all span
	err = e.View(ctx, api.Caller{}, func(tx *engine.ReadTx) error {
		reader := entryReader{tx, of.Name}
		if all, err = reader.span(period); err != nil {
			return err
		}
		last, err := reader.read(span{max(1, all.end-1), all.end})
		if len(last) == 1 {
			balance = last[0].Balance
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("account: read %s: %w", of.Name, err)
	}
	if fn == nil {
		return balance, nil
	}
	return balance, s.In(e).entriesOf(ctx, of.Name, all, fn)
}

// OperatorOnly refuses a caller with a Merchant.
func (*Service) OperatorOnly(caller api.Caller) error { return operatorOnly(caller) }
