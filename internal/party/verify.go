package party

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// verifier is a verification under way.
type verifier struct {
	account.Verification
	service  *Service
	progress func(account.Verification)
	reported int // problems that VerifyWithProgress has passed on

	// cutoff is the time before which entries must have a seal.
	cutoff  time.Time
	overdue storage.Entry // the oldest overdue entry

	// booked is the number of entries that all accounts count, in one View. inPostings is the number
	// of entries in all postings.
	booked, inPostings int64

	// after is the account that the pass has reached. The other fields belong to that account.
	after       string
	account     storage.Balance // has no name between two accounts
	sealed      int64           // the number of its entries with a seal
	number      int64           // the next entry to check, and the balance that it must leave
	balance     int64
	previousMAC []byte // the MAC of the segment before the one that holds number
}

// report passes the present state to progress.
func (v *verifier) report() {
	if v.progress == nil {
		return
	}
	v.reported = len(v.Problems)
	told := v.Verification
	told.Problems = slices.Clone(v.Problems)
	v.progress(told)
}

const (
	// maxProblems bounds the report of a badly damaged ledger.
	maxProblems = 100
	// verifyPage is the number of rows in one read, and verifyView about the number in one View.
	// They keep memory flat and snapshots short.
	verifyPage = 500
	verifyView = 1000
	// accountRows is the number of rows that an account counts for, in addition to its entries.
	accountRows = 10
)

func (s *Service) Verify(ctx context.Context) (*account.Verification, error) {
	return s.VerifyWithProgress(ctx, nil)
}

func (s *Service) VerifyWithProgress(ctx context.Context, progress func(account.Verification)) (*account.Verification, error) {
	v := &verifier{service: s, progress: progress, cutoff: s.engine.Clock().Add(-account.SealWithin - skew)}
	if err := v.run(ctx); err != nil {
		return nil, fmt.Errorf("account: verify: %w", err)
	}
	return &v.Verification, nil
}

func (v *verifier) run(ctx context.Context) error {
	if err := v.inViews(ctx, (*verifier).sumBalances); err != nil {
		return err
	}
	least := v.booked
	if err := v.inViews(ctx, (*verifier).verifyAccounts); err != nil {
		return err
	}
	if v.Overdue > 0 {
		v.problem("%d entries have no seal though they were booked more than %s ago, the first of them entry %d of account %s at %s",
			v.Overdue, account.SealWithin, v.overdue.Number, v.overdue.Account, api.At(v.overdue.At))
	}
	v.after = ""
	if err := v.inViews(ctx, (*verifier).verifyPostings); err != nil {
		return err
	}
	if err := v.inViews(ctx, (*verifier).sumBalances); err != nil {
		return err
	}
	switch {
	case v.inPostings >= least && v.inPostings <= v.booked:
	case least == v.booked:
		v.problem("the postings have %d entries, the accounts %d", v.inPostings, v.booked)
	default:
		v.problem("the postings have %d entries, the accounts had %d before that and %d after it", v.inPostings, least, v.booked)
	}
	v.after, v.account = "", storage.Balance{}
	if err := v.inViews(ctx, (*verifier).verifySeals); err != nil {
		return err
	}
	if v.reported < len(v.Problems) {
		v.report()
	}
	return nil
}

// inViews calls step in one View after another, until there is no more. The findings of a step
// count once its View has ended, since a View may run more than once.
func (v *verifier) inViews(ctx context.Context, step func(*verifier, storage.ReadTx) (more bool, err error)) error {
	for more := true; more; {
		var next verifier
		err := v.service.engine.Store.View(ctx, func(tx storage.ReadTx) error {
			next = *v
			next.Problems = slices.Clip(next.Problems)
			var err error
			more, err = step(&next, tx)
			return err
		})
		if err != nil {
			return err
		}
		moved := next.Accounts+next.Entries+next.Postings+next.Sealed > v.Accounts+v.Entries+v.Postings+v.Sealed
		if *v = next; moved {
			v.report()
		}
	}
	return nil
}

// sumBalances adds up all balances in one View. Only its first call checks the sum.
func (v *verifier) sumBalances(tx storage.ReadTx) (more bool, err error) {
	sum, booked := int64(0), int64(0)
	for after := ""; ; {
		page, err := tx.Balances(after, verifyPage)
		if err != nil {
			return false, err
		}
		for _, b := range page {
			sum += b.Amount
			booked += b.Entries
			after = b.Account
		}
		if len(page) < verifyPage {
			break
		}
	}
	if first := v.booked == 0; first && sum != 0 {
		v.problem("all balances together are %d pesewas, not zero", sum)
	}
	v.booked = booked
	return false, nil
}

// verifyAccounts replays accounts, each from its newest entry to its first.
func (v *verifier) verifyAccounts(tx storage.ReadTx) (more bool, err error) {
	rows := 0
	if v.account.Account != "" {
		if rows, err = v.replay(tx, rows); err != nil || v.account.Account != "" {
			return true, err
		}
	}
	const limit = verifyView / accountRows
	page, err := tx.Balances(v.after, limit)
	if err != nil {
		return false, err
	}
	heads, err := headsAfter(tx, v.after, len(page))
	if err != nil {
		return false, err
	}
	for _, b := range page {
		if rows >= verifyView {
			return true, nil
		}
		v.Accounts++
		v.after, v.account = b.Account, b
		v.number, v.balance, v.sealed = b.Entries, b.Amount, 0
		if head := heads[b.Account]; head != nil {
			v.sealed = head.Value.Entries
		}
		newest, err := tx.Entries(b.Account, 0, 1)
		if err != nil {
			return false, err
		}
		if len(newest) == 1 && newest[0].Number > b.Entries {
			v.problem("account %s: has entry %d, but counts %d", b.Account, newest[0].Number, b.Entries)
		}
		if rows, err = v.replay(tx, rows+accountRows); err != nil || v.account.Account != "" {
			return true, err
		}
	}
	return len(page) == limit, nil
}

// replay walks an account down from the number reached so far, to its first entry or until it has
// read enough rows.
func (v *verifier) replay(tx storage.ReadTx, rows int) (int, error) {
	b := v.account
	for v.number > 0 {
		if rows >= verifyView {
			return rows, nil
		}
		page, err := tx.Entries(b.Account, v.number+1, verifyPage)
		if err != nil {
			return rows, err
		}
		rows += len(page)
		problem := ""
		if len(page) == 0 {
			problem = fmt.Sprintf("account %s: entries up to number %d are missing", b.Account, v.number)
		}
		for i := range page {
			if problem = v.verifyEntry(&page[i]); problem != "" {
				break
			}
		}
		if problem != "" {
			v.problem("%s", problem)
			v.Entries += v.number // counts the missing entries as read
			v.account = storage.Balance{}
			return rows, nil
		}
	}
	if v.balance != 0 {
		v.problem("account %s: begins with %d, not zero", b.Account, v.balance)
	}
	v.account = storage.Balance{}
	return rows, nil
}

// verifyEntry compares the next entry with the expected number and balance, and returns a problem if they
// differ. It reports a guarded account below zero itself, and counts an entry whose seal is overdue.
func (v *verifier) verifyEntry(e *storage.Entry) (problem string) {
	switch b := &v.account; {
	case e.Number != v.number:
		return fmt.Sprintf("account %s: entry %d is missing", b.Account, v.number)
	case e.Balance != v.balance:
		return fmt.Sprintf("account %s: entry %d leaves %d, want %d", b.Account, v.number, e.Balance, v.balance)
	case b.Guarded && e.Balance < 0:
		v.problem("account %s: entry %d took a guarded account to %d", b.Account, v.number, e.Balance)
	}
	if e.Number > v.sealed && e.At.Before(v.cutoff) && len(v.service.sealKeys) > 0 {
		if v.Overdue++; v.Overdue == 1 || e.At.Before(v.overdue.At) {
			v.overdue = *e
		}
	}
	v.balance -= e.Amount
	v.number--
	v.Entries++
	return ""
}

// verifyPostings adds up every posting of a page.
func (v *verifier) verifyPostings(tx storage.ReadTx) (more bool, err error) {
	page, err := tx.Postings(v.after, verifyPage)
	if err != nil {
		return false, err
	}
	for _, p := range page {
		v.Postings++
		v.inPostings += int64(len(p.Entries))
		sum := int64(0)
		for _, e := range p.Entries {
			sum += e.Amount
		}
		if sum != 0 || len(p.Entries) < 2 {
			v.problem("posting %s: %d entries add up to %d, not zero", p.ID, len(p.Entries), sum)
		}
		v.after = p.ID
	}
	return len(page) == verifyPage, nil
}

// verifySeals compares accounts with their seals, each from its first entry on.
func (v *verifier) verifySeals(tx storage.ReadTx) (more bool, err error) {
	rows := 0
	if v.account.Account != "" {
		// The account's last segment may have a new seal by now, and so a new head.
		r, err := tx.Get(sealHeads.Kind(), storage.Scope{}, v.account.Account)
		if errors.Is(err, storage.ErrNotFound) {
			v.problem("account %s: the record of how far it is sealed was removed", v.account.Account)
			v.account = storage.Balance{}
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if rows, err = v.verifySealsOf(tx, r, rows); err != nil || v.account.Account != "" {
			return true, err
		}
	}
	const limit = verifyView / accountRows
	page, err := tx.List(sealHeads.Kind(), storage.Query{After: v.after, Limit: limit, Bare: true})
	if err != nil {
		return false, err
	}
	for _, r := range page {
		if rows >= verifyView {
			return true, nil
		}
		v.after, v.account = r.ID, storage.Balance{Account: r.ID}
		v.number, v.previousMAC = 1, nil
		if rows, err = v.verifySealsOf(tx, r, rows+accountRows); err != nil || v.account.Account != "" {
			return true, err
		}
	}
	return len(page) == limit, nil
}

// verifySealsOf compares an account with its seals from the number reached so far, to its last
// seal or until it has read enough rows.
func (v *verifier) verifySealsOf(tx storage.ReadTx, r storage.Record, rows int) (int, error) {
	name := r.ID
	done := func(format string, args ...any) (int, error) {
		v.account = storage.Balance{}
		if format != "" {
			v.problem(format, args...) // the following comparisons depend on this seal
		}
		return rows, nil
	}
	head, err := sealHeads.Decode(r)
	if err != nil {
		return done("account %s: the record of how far it is sealed cannot be read", name)
	}
	b, err := tx.Balance(name)
	if err != nil {
		return rows, err
	}
	if b.Entries < head.Value.Entries {
		return done("account %s: %d entries were sealed, and %d are there", name, head.Value.Entries, b.Entries)
	}
	for v.number <= head.Value.Entries {
		if rows >= verifyView {
			return rows, nil
		}
		number := (v.number - 1) / segmentEntries
		last := min(head.Value.Entries, (number+1)*segmentEntries)
		entries, problem, err := segmentOf(tx, name, number, last)
		if err != nil {
			return rows, err
		}
		rows += len(entries) + 2
		_, kept, err := lastSeals(tx, name, number)
		if bad := (*unreadable)(nil); errors.As(err, &bad) {
			return done("%v", bad)
		}
		if err != nil {
			return rows, err
		}
		if problem == "" {
			v.previousMAC, problem = v.service.checkSeal(name, number, entries, v.previousMAC, kept)
		}
		if problem != "" {
			return done("%s", problem)
		}
		v.Sealed += int64(len(entries))
		v.number = last + 1
	}
	return done("")
}

func (v *verifier) problem(format string, args ...any) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}
