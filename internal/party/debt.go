package party

import (
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// owes reports whether the merchant owes the operator money in a mode.
func owes(m *account.Merchant, live bool) bool {
	if live {
		return m.OwesLive
	}
	return m.OwesTest
}

// setOwes notes on a merchant whether it owes the operator money in a mode.
func setOwes(tx *engine.Tx, id string, live, owing bool) error {
	o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
	if err != nil {
		return err
	}
	if owes(&o.Value, live) == owing {
		return nil
	}
	if live {
		o.Value.OwesLive = owing
	} else {
		o.Value.OwesTest = owing
	}
	return merchants.Replace(tx, o)
}

// Credit books a posting that adds to a merchant's available balance. If the merchant owes the operator
// money, the same transaction pays the debt from that balance, so a merchant in debt has nothing available.
// Call Credit for every posting that adds to an available balance, unless the transaction takes the whole
// amount away again.
func (*Service) Credit(tx *engine.Tx, merchant string, p storage.Posting) error {
	return credit(tx, merchant, p)
}

func credit(tx *engine.Tx, merchant string, p storage.Posting) error {
	if err := tx.Post(p); err != nil {
		return err
	}
	m, err := getMerchant(tx, merchant) // which the transaction of a receipt reads anyway
	if err != nil {
		return err
	}
	live := tx.Caller.Live
	if !owes(m, live) {
		return nil
	}
	available, owed := ledger.Available(merchant, live), ledger.Owed(merchant, live)
	has, err := tx.Balance(available.Name)
	if err != nil {
		return fmt.Errorf("account: balance: %w", err)
	}
	debt, err := tx.Balance(owed.Name)
	if err != nil {
		return fmt.Errorf("account: balance: %w", err)
	}
	paid := min(has.Amount, -debt.Amount)
	if paid > 0 {
		err := tx.Post(storage.Posting{
			ID: tx.NewID("txn_"), Type: "debt_netted", Ref: p.Ref, At: p.At,
			Moves: []storage.Move{available.Move(-paid), owed.Move(paid)},
		})
		if err != nil {
			return fmt.Errorf("account: net debt: %w", err)
		}
	}
	if debt.Amount+paid < 0 {
		return nil
	}
	return setOwes(tx, merchant, live, false)
}

// Take books a posting that takes an amount, in pesewas, from the available balance of the caller's merchant.
// If the balance is too small, the merchant owes the operator the rest, and Take returns the rest as owed. p
// holds the moves to the accounts that receive the money.
func (*Service) Take(tx *engine.Tx, amount int64, p storage.Posting) (owed int64, err error) {
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	available := ledger.Available(merchant, live)
	has, err := tx.Balance(available.Name)
	if err != nil {
		return 0, fmt.Errorf("account: balance: %w", err)
	}
	owed = max(0, amount-has.Amount)
	if taken := amount - owed; taken > 0 {
		p.Moves = append(p.Moves, available.Move(-taken))
	}
	if owed > 0 {
		p.Moves = append(p.Moves, ledger.Owed(merchant, live).Move(-owed))
		if err := setOwes(tx, merchant, live, true); err != nil {
			return 0, err
		}
	}
	return owed, tx.Post(p)
}
