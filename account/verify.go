package account

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// Verification is the outcome of replaying the ledger.
type Verification struct {
	Accounts, Postings, Entries int64
	// Sealed is how many entries agree with their seals; see [Service.Seal].
	Sealed int64
	// Problems says what does not agree, in words; empty when all does.
	Problems []string
}

// verifier is a verification under way.
type verifier struct {
	Verification
	progress func(Verification)
}

// tell reports what was replayed so far.
func (v *verifier) tell() {
	if v.progress == nil {
		return
	}
	told := v.Verification
	told.Problems = slices.Clone(v.Problems)
	v.progress(told)
}

// maxProblems bounds the report of a ledger that is beyond repair.
const maxProblems = 100

// verifyPage is how many rows are read at once, so that memory stays flat.
const verifyPage = 500

// VerifyParams say how the ledger is verified. The zero value works.
type VerifyParams struct {
	// Progress, unless it is nil, is told every few hundred rows what was replayed so
	// far, in the goroutine of Verify: first of the accounts and their entries, then
	// of the postings. It begins anew when the store runs the reading again.
	Progress func(Verification)
}

// Verify replays every entry of every account and compares the outcome with all
// balances: entries are numbered without holes, each balance is the one before
// plus the amount, no guarded account was ever below zero, every posting adds up
// to zero, and all money together does. What was sealed is compared with its seal,
// so that an entry that was changed, removed or moved in the database is named. It reads one snapshot and may run beside
// traffic; it takes time in proportion to the ledger.
//
// The error says that the ledger could not be read; what was found wrong is in
// the report.
func (s *Service) Verify(ctx context.Context) (*Verification, error) {
	return s.VerifyWith(ctx, VerifyParams{})
}

// VerifyWith is Verify with parameters.
func (s *Service) VerifyWith(ctx context.Context, p VerifyParams) (*Verification, error) {
	var v *verifier
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		v = &verifier{progress: p.Progress}
		if err := v.accounts(tx); err != nil {
			return err
		}
		if err := v.postings(tx); err != nil {
			return err
		}
		return v.seals(tx, s)
	})
	if err != nil {
		return nil, fmt.Errorf("account: verify: %w", err)
	}
	return &v.Verification, nil
}

func (v *verifier) accounts(tx storage.ReadTx) error {
	after, total := "", int64(0)
	for {
		page, err := tx.Balances(after, verifyPage)
		if err != nil {
			return err
		}
		for _, b := range page {
			v.Accounts++
			total += b.Amount
			before := v.Entries
			if err := v.account(tx, b); err != nil {
				return err
			}
			v.Entries = before + b.Entries // though it ended at a problem
		}
		v.tell()
		if len(page) < verifyPage {
			break
		}
		after = page[len(page)-1].Account
	}
	if total != 0 {
		v.problem("all balances together are %d pesewas, not zero", total)
	}
	return nil
}

// account walks one account from its newest entry to its first.
func (v *verifier) account(tx storage.ReadTx, b storage.Balance) error {
	number, balance := b.Entries, b.Amount
	for number > 0 {
		page, err := tx.Entries(b.Account, number+1, verifyPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			v.problem("account %s: entries up to number %d are missing", b.Account, number)
			return nil
		}
		for _, e := range page {
			if e.Number != number {
				v.problem("account %s: entry %d is missing", b.Account, number)
				return nil
			}
			if e.Balance != balance {
				v.problem("account %s: entry %d leaves %d, want %d", b.Account, number, e.Balance, balance)
				return nil
			}
			if b.Guarded && e.Balance < 0 {
				v.problem("account %s: entry %d took a guarded account to %d", b.Account, number, e.Balance)
			}
			balance -= e.Amount
			number--
		}
		if v.Entries += int64(len(page)); number > 0 {
			v.tell() // a clearing account alone may have most of all entries
		}
	}
	if balance != 0 {
		v.problem("account %s: begins with %d, not zero", b.Account, balance)
	}
	newest, err := tx.Entries(b.Account, 0, 1)
	if err != nil {
		return err
	}
	if len(newest) == 1 && newest[0].Number > b.Entries {
		v.problem("account %s: has entry %d, but counts %d", b.Account, newest[0].Number, b.Entries)
	}
	return nil
}

func (v *verifier) postings(tx storage.ReadTx) error {
	after, entries := "", int64(0)
	for {
		page, err := tx.Postings(after, verifyPage)
		if err != nil {
			return err
		}
		for _, p := range page {
			v.Postings++
			entries += int64(len(p.Entries))
			sum := int64(0)
			for _, e := range p.Entries {
				sum += e.Amount
			}
			if sum != 0 || len(p.Entries) < 2 {
				v.problem("posting %s: %d entries add up to %d, not zero", p.ID, len(p.Entries), sum)
			}
		}
		v.tell()
		if len(page) < verifyPage {
			break
		}
		after = page[len(page)-1].ID
	}
	if entries != v.Entries {
		v.problem("the postings have %d entries, the accounts %d", entries, v.Entries)
	}
	return nil
}

func (v *verifier) problem(format string, args ...any) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}
