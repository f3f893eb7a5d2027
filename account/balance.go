package account

import (
	"context"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// Balance is a merchant's money, in GHS.
type Balance struct {
	Object string `json:"object"` // always "balance"
	// Available may be spent. Reserved belongs to transfers under way and is not part of
	// Available.
	Available api.GHS `json:"available"`
	Reserved  api.GHS `json:"reserved"`
	// Owed is what the merchant owes: payments that the provider took back when Available did not cover
	// them. Whatever would add to Available pays it first, so Available is 0 until then. The JSON has
	// it only if it is not 0.
	Owed     api.GHS `json:"owed,omitzero"`
	Currency string  `json:"currency"`
}

// Entry is one change of a merchant's available balance.
type Entry struct {
	ID     string `json:"id"`     // txn_…
	Object string `json:"object"` // always "balance_entry"
	// Type is the kind of movement: payment, refund, payout, disbursement, deposit, adjustment or
	// debt_netted. debt_netted paid what the merchant owed; see [Balance]. With _released after it,
	// reserved money has come back. With _reversed, the provider took money back.
	Type string `json:"type"`
	// Source is the id of the object that caused the entry. For a deposit it is DepositParams.Ref.
	Source string `json:"source"`
	// Amount is in GHS, positive when money came in. Balance is the available balance after the
	// entry.
	Amount    api.GHS  `json:"amount"`
	Balance   api.GHS  `json:"balance"`
	Currency  string   `json:"currency"`
	CreatedAt api.Time `json:"created_at"`
}

// Balance returns the caller's balance.
func (s *Service) Balance(ctx context.Context, caller api.Caller) (*Balance, error) {
	var b *Balance
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		available, err := tx.Balance(ledger.Available(caller.Merchant, caller.Live).Name)
		if err != nil {
			return fmt.Errorf("account: balance: %w", err)
		}
		reserved, err := tx.Balance(ledger.Reserved(caller.Merchant, caller.Live).Name)
		if err != nil {
			return fmt.Errorf("account: balance: %w", err)
		}
		owed, err := tx.Balance(ledger.Owed(caller.Merchant, caller.Live).Name)
		if err != nil {
			return fmt.Errorf("account: balance: %w", err)
		}
		b = &Balance{
			Object: "balance", Currency: api.Currency,
			Available: api.FromPesewas(available.Amount), Reserved: api.FromPesewas(reserved.Amount), Owed: api.FromPesewas(-owed.Amount),
		}
		return nil
	})
	return b, err
}

// WalletBalance returns the balance of a consumer's wallet in the caller's mode, in GHS. Only the
// operator may call it.
//
// Refusals: permission_denied (a caller with a Merchant), resource_missing.
func (s *Service) WalletBalance(ctx context.Context, caller api.Caller, consumer string) (api.GHS, error) {
	return balanceOf(ctx, s, caller, consumers, "consumer", consumer, ledger.Wallet(consumer, caller.Live))
}

// FloatBalance is WalletBalance for a cash agent's float.
func (s *Service) FloatBalance(ctx context.Context, caller api.Caller, agent string) (api.GHS, error) {
	return balanceOf(ctx, s, caller, agents, "cash agent", agent, ledger.Float(agent, caller.Live))
}

func balanceOf[T any](ctx context.Context, s *Service, caller api.Caller, holders *storage.Collection[T], noun, id string, money ledger.Account) (balance api.GHS, err error) {
	if err := operatorOnly(caller); err != nil {
		return balance, err
	}
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		if _, err := engine.GetTx(tx, holders, operator(caller.Live), id, noun); err != nil {
			return err
		}
		b, err := tx.Balance(money.Name)
		balance = api.FromPesewas(b.Amount)
		return err
	})
	return balance, err
}

// DepositParams describes money that comes into the system from outside.
type DepositParams struct {
	// To is a consumer's (acc_…), cash agent's (cag_…) or merchant's (mer_…) id.
	To string
	// Amount is in GHS, more than zero.
	Amount decimal.Decimal
	// Source names the origin of the money, such as "bank". It is required: at most 40 lower-case
	// letters and underscores. The ledger debits the clearing account with this name.
	Source string
	// Ref is the operator's own reference, at most 100 characters. A merchant sees it as the Source of
	// the [Entry].
	Ref string
}

// Deposit credits an account of the caller's mode against a clearing account. Only the operator may
// call it, once the money has arrived. No route of /v1 makes a deposit in live mode. One idempotency
// key makes one deposit. The keys of a caller without Merchant are separate from those of merchants.
//
// Refusals: permission_denied, parameter_invalid, resource_missing, account_not_found (the account was
// closed).
func (s *Service) Deposit(ctx context.Context, caller api.Caller, d DepositParams) error {
	if err := operatorOnly(caller); err != nil {
		return err
	}
	pesewas, err := check.Amount("amount", d.Amount)
	if err != nil {
		return err
	}
	if d.Source == "" || !isSource(d.Source) {
		return api.Invalid("source", "source must be a short name in lower-case letters and underscores.")
	}
	if err := check.Text("ref", d.Ref, api.MaxReference); err != nil {
		return err
	}
	clock := api.Caller{Live: caller.Live}
	if strings.HasPrefix(d.To, "mer_") {
		clock.Merchant = d.To // the entries of a merchant carry the times of its own clock
	}
	op := engine.Operation{Name: "deposit", Params: d}
	_, err = engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*deposited, error) {
		to, err := ledgerAccount(tx, caller.Live, d.To)
		if err != nil {
			return nil, err
		}
		at, err := tx.As(clock)
		if err != nil {
			return nil, err
		}
		p := storage.Posting{
			ID: tx.NewID("txn_"), Type: "deposit", Ref: d.Ref, At: at.Now,
			Moves: []storage.Move{to.Move(pesewas), ledger.Clearing(d.Source, caller.Live).Move(-pesewas)},
		}
		if clock.Merchant != "" {
			return &deposited{Posting: p.ID}, credit(tx, clock.Merchant, p)
		}
		return &deposited{Posting: p.ID}, tx.Post(p)
	})
	return err
}

// deposited is the answer that the engine stores under a deposit's key.
type deposited struct {
	Posting string `json:"posting"`
}

// ledgerAccount returns the ledger account that holds the money of an account id. It refuses a closed
// account, whose money could be neither paid with nor paid out.
func ledgerAccount(tx storage.ReadTx, live bool, id string) (ledger.Account, error) {
	if strings.HasPrefix(id, "mer_") {
		_, err := getMerchant(tx, id)
		return ledger.Available(id, live), err
	}
	if id == "" {
		return ledger.Account{}, api.NoSuch("account")
	}
	h, _, err := findHolder(tx, live, id, "")
	switch {
	case err != nil:
		return ledger.Account{}, err
	case h == nil:
		return ledger.Account{}, api.NoSuch("account")
	case h.Status == Closed:
		return ledger.Account{}, api.Errorf(api.AccountNotFound, "to", "This account is closed, and takes no money. Give the money back to whoever has sent it.")
	}
	return ledger.Of(id, live), nil
}

func isSource(s string) bool {
	for i := range len(s) {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '_' {
			return false
		}
	}
	return len(s) <= 40
}
