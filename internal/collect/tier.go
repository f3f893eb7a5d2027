package collect

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
)

// walletLimits are account.TierLimits in pesewas; 0 means no limit.
type walletLimits struct{ day, month, balance int64 }

// limitsOf converts the host's tiers. It returns nil if there are none.
func limitsOf(w *account.WalletTiers) (map[account.Tier]walletLimits, error) {
	if w == nil {
		return nil, nil
	}
	limits := map[account.Tier]walletLimits{}
	for tier, given := range map[account.Tier]account.TierLimits{
		account.TierMinimum: w.Minimum, account.TierMedium: w.Medium, account.TierEnhanced: w.Enhanced,
	} {
		var l walletLimits
		for _, f := range []struct {
			given decimal.Decimal
			into  *int64
		}{{given.Day, &l.day}, {given.Month, &l.month}, {given.Balance, &l.balance}} {
			n, err := money.ToPesewas(f.given)
			if err != nil || n < 0 {
				return nil, api.Invalid("WalletTiers", "WalletTiers must be in GHS, at least 0, with at most two decimals.").WithCause(err)
			}
			*f.into = n
		}
		limits[tier] = l
	}
	limits[""] = limits[account.TierMinimum]
	return limits, nil
}

// topUpTotal has the sums of a wallet's completed top-ups, of the day and the month of the latest one. Its id is
// the consumer's.
type topUpTotal struct {
	Day         string `json:"day"` // 2006-01-02
	DayAmount   int64  `json:"day_amount"`
	MonthAmount int64  `json:"month_amount"`
}

var topUpTotals = storage.NewCollection[topUpTotal]("top_up_totals", nil)

// totalNow returns the record of a wallet's sums as of now. It sets the sums of a day or month that has passed to
// 0.
func totalNow(tx *engine.Tx, consumer string) (*storage.Object[topUpTotal], error) {
	o, err := topUpTotals.GetOrNew(tx, engine.Scope(tx.Caller), consumer)
	if err != nil {
		return nil, fmt.Errorf("payment: read sums of top-ups: %w", err)
	}
	day := tx.Now.UTC().Format(time.DateOnly)
	t := &o.Value
	if day > t.Day { // the clock of another process may be ahead
		if month := len("2006-01"); len(t.Day) < month || t.Day[:month] != day[:month] {
			t.MonthAmount = 0
		}
		t.Day, t.DayAmount = day, 0
	}
	return o, nil
}

// countTopUp adds a completed top-up to the wallet's sums.
func countTopUp(tx *engine.Tx, consumer string, amount int64) error {
	o, err := totalNow(tx, consumer)
	if err != nil {
		return err
	}
	o.Value.DayAmount += amount
	o.Value.MonthAmount += amount
	return topUpTotals.Put(tx, o)
}

// checkTier refuses a top-up that takes a wallet above a limit of the holder's tier, with
// wallet_limit_exceeded.
func (s *Service) checkTier(tx *engine.Tx, consumer *account.Consumer, amount int64) error {
	l, ok := s.limits[consumer.Tier]
	if !ok {
		return nil
	}
	o, err := totalNow(tx, consumer.ID)
	if err != nil {
		return err
	}
	balance, err := walletBalance(tx, consumer.ID, tx.Caller.Live)
	if err != nil {
		return err
	}
	switch {
	case l.day > 0 && amount > l.day-o.Value.DayAmount:
		return overLimit("The top-ups of one day may reach GHS %s for this wallet.", l.day)
	case l.month > 0 && amount > l.month-o.Value.MonthAmount:
		return overLimit("The top-ups of one month may reach GHS %s for this wallet.", l.month)
	case l.balance > 0 && amount > l.balance-balance:
		return overLimit("The balance of this wallet may reach GHS %s.", l.balance)
	}
	return nil
}

func overLimit(rule string, limit int64) error {
	return api.Errorf(api.WalletLimitExceeded, "amount", "The amount is above what this wallet may still receive. "+rule, money.Text(limit))
}

func walletBalance(tx storage.ReadTx, consumer string, live bool) (int64, error) {
	b, err := tx.Balance(ledger.Wallet(consumer, live).Name)
	if err != nil {
		return 0, fmt.Errorf("payment: wallet's balance: %w", err)
	}
	return b.Amount, nil
}
