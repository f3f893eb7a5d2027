package party

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Balance(ctx context.Context, caller api.Caller) (*account.Balance, error) {
	var b *account.Balance
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
		b = &account.Balance{
			Object: "balance", Currency: api.Currency,
			Available: api.FromPesewas(available.Amount), Reserved: api.FromPesewas(reserved.Amount), Owed: api.FromPesewas(-owed.Amount),
		}
		return nil
	})
	return b, err
}

func (s *Service) WalletBalance(ctx context.Context, caller api.Caller, consumer string) (api.GHS, error) {
	return balanceOf(ctx, s, caller, consumers, "consumer", consumer, ledger.Wallet(consumer, caller.Live))
}

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

func (s *Service) Deposit(ctx context.Context, caller api.Caller, d account.DepositParams) error {
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
	case h.Status == account.Closed:
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
