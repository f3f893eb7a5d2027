package account

import (
	"context"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/storage"
)

// Balance is a merchant's money, in GHS.
type Balance struct {
	Object string `json:"object"` // always "balance"
	// Available may be spent; Reserved is promised to transfers under way and no
	// longer part of Available.
	Available api.GHS `json:"available"`
	Reserved  api.GHS `json:"reserved"`
	Currency  string  `json:"currency"`
}

// Entry is one change of a merchant's available balance.
type Entry struct {
	ID     string `json:"id"`     // txn_…
	Object string `json:"object"` // always "balance_entry"
	// Type is what kind of movement it was; Source the object that caused it.
	Type   string `json:"type"`
	Source string `json:"source"`
	// Amount is in GHS, positive when money came in; Balance is what was
	// available afterwards.
	Amount    api.GHS  `json:"amount"`
	Balance   api.GHS  `json:"balance"`
	Currency  string   `json:"currency"`
	CreatedAt api.Time `json:"created_at"`
}

// Balance returns the caller's balance.
func (s *Service) Balance(ctx context.Context, caller api.Caller) (*Balance, error) {
	var b *Balance
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		available, err := tx.Balance(chart.Available(caller.Merchant, caller.Live).Name)
		if err != nil {
			return fmt.Errorf("account: balance: %w", err)
		}
		reserved, err := tx.Balance(chart.Reserved(caller.Merchant, caller.Live).Name)
		if err != nil {
			return fmt.Errorf("account: balance: %w", err)
		}
		b = &Balance{
			Object: "balance", Currency: api.Currency,
			Available: api.Pesewas(available.Amount), Reserved: api.Pesewas(reserved.Amount),
		}
		return nil
	})
	return b, err
}

// WalletBalance returns what a consumer has in the wallet, in GHS.
func (s *Service) WalletBalance(ctx context.Context, live bool, consumer string) (decimal.Decimal, error) {
	return s.amount(ctx, chart.Wallet(consumer, live))
}

// FloatBalance returns what a cash agent has in the float, in GHS.
func (s *Service) FloatBalance(ctx context.Context, live bool, agent string) (decimal.Decimal, error) {
	return s.amount(ctx, chart.Float(agent, live))
}

func (s *Service) amount(ctx context.Context, a chart.Account) (decimal.Decimal, error) {
	var d decimal.Decimal
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		b, err := tx.Balance(a.Name)
		d = decimal.New(b.Amount, -2)
		return err
	})
	return d, err
}

// Deposit brings money into the system from outside.
type Deposit struct {
	// To is a consumer's (acc_…), cash agent's (cag_…) or merchant's (mer_…) id.
	To   string
	Live bool
	// Amount is in GHS, more than zero.
	Amount decimal.Decimal
	// Source names where the money came from, as "bank" or "test": it becomes
	// part of the name of the clearing account that is debited.
	Source string
	// Ref is the operator's own reference, kept with the posting.
	Ref string
	// IdempotencyKey, 1 to 255 printable ASCII characters, makes it safe to repeat a
	// deposit whose answer was lost: one key is one deposit, for 30 days. Keys of
	// deposits are the operator's, apart from those of merchants.
	IdempotencyKey string
}

// Deposit credits an account against a clearing account. It is for the operator,
// who has seen the money arrive; no route of /v1 does it in live mode.
func (s *Service) Deposit(ctx context.Context, d Deposit) error {
	pesewas, err := CheckAmount("amount", d.Amount)
	if err != nil {
		return err
	}
	if d.Source == "" || !isSource(d.Source) {
		return api.Invalid("source", "source must be a short name in lower-case letters and underscores.")
	}
	if err := api.CheckText("ref", d.Ref, api.MaxReference); err != nil {
		return err
	}
	caller, clock := api.Caller{Live: d.Live, IdempotencyKey: d.IdempotencyKey}, api.Caller{Live: d.Live}
	if strings.HasPrefix(d.To, "mer_") {
		clock.Merchant = d.To // a merchant's entries bear the times of its own clock
	}
	d.IdempotencyKey = ""
	call := engine.Call{Name: "deposit", Params: d}
	_, err = engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*deposited, error) {
		to, err := ledgerAccount(tx, d.Live, d.To)
		if err != nil {
			return nil, err
		}
		at, err := tx.For(clock)
		if err != nil {
			return nil, err
		}
		id := tx.NewID("txn_")
		return &deposited{Posting: id}, tx.Post(storage.Posting{
			ID: id, Type: "deposit", Ref: d.Ref, At: at.Now,
			Moves: []storage.Move{to.Move(pesewas), chart.Clearing(d.Source, d.Live).Move(-pesewas)},
		})
	})
	return err
}

// deposited is what is kept under the key of a deposit.
type deposited struct {
	Posting string `json:"posting"`
}

// ledgerAccount returns where the money of an account id lies.
func ledgerAccount(tx storage.ReadTx, live bool, id string) (chart.Account, error) {
	if len(id) < 4 {
		return chart.Account{}, api.NoSuch("account")
	}
	switch id[:4] {
	case "acc_":
		_, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
		return chart.Wallet(id, live), err
	case "cag_":
		_, err := engine.GetTx(tx, agents, operator(live), id, "cash agent")
		return chart.Float(id, live), err
	case "mer_":
		_, err := MerchantTx(tx, id)
		return chart.Available(id, live), err
	}
	return chart.Account{}, api.NoSuch("account")
}

// CheckAmount returns an amount of GHS in pesewas, and refuses one that is not
// above zero, has more than two decimals or exceeds GHS 999,999.99.
func CheckAmount(param string, ghs decimal.Decimal) (int64, error) {
	pesewas, err := money.Pesewas(ghs)
	if err != nil || pesewas < 1 || pesewas > money.Max {
		return 0, api.Invalid(param, "%s must be an amount in GHS from 0.01 to %s, with at most two decimals.", param, money.Text(money.Max)).WithCause(err)
	}
	return pesewas, nil
}

func isSource(s string) bool {
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '_' {
			return false
		}
	}
	return len(s) <= 40
}
