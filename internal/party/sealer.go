package party

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

const (
	// sealEvery is the time from the start of one pass over all accounts to the start of the
	// next. The rest of SealWithin is for the pass itself.
	sealEvery = account.SealWithin / 2
	// sealRetry is the time until a pass continues after a failure of the store.
	sealRetry = 30 * time.Second
	// sealLimit bounds one run of the worker. The worker uses half of it, which leaves time to
	// write its progress.
	sealLimit = time.Minute

	// sealPage is the number of accounts that the worker compares with their seals in two reads.
	sealPage = 1000
	// sealRows and sealBytes bound the reads of one transaction. Each account counts as
	// accountRows in addition to its entries.
	sealRows  = 1000
	sealBytes = 1 << 20
	// sealTxTime bounds the time for which one transaction reads accounts or writes seals.
	// Meanwhile other calls wait for its connection or, where the database is far away, for its
	// writes.
	sealTxTime = 50 * time.Millisecond
)

// sealProgress is the worker's only record. Its due time wakes the worker.
type sealProgress struct {
	Due api.Time `json:"due"`
	// Began is the start of the pass under way; nil between two passes. After is the last account
	// that the pass has done.
	Began *api.Time `json:"began,omitempty"`
	After string    `json:"after,omitempty"`
	// Refused is the time of the oldest entry that the pass under way cannot seal, because the
	// ledger and its seals disagree there; nil for none.
	Refused *api.Time `json:"refused,omitempty"`
	// Unsealed is the result of the last pass: every entry booked before has a seal. It is nil
	// until the first pass has ended.
	Unsealed *api.Time `json:"unsealed,omitempty"`
}

const sealerID = "sealer"

var sealProgressRecords = storage.NewCollection("sealers", []storage.Field[sealProgress]{
	storage.NullTimeColumn("due", func(s *sealProgress) *api.Time { return &s.Due }),
}, storage.DueBy("due"))

// Prepare inserts the record of the sealer, unless the store has it.
func (s *Service) Prepare(ctx context.Context) error {
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		_, err := sealProgressRecords.Get(tx, storage.Scope{}, sealerID)
		return err
	})
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		_, err := sealProgressRecords.Insert(tx, storage.Scope{}, sealerID, sealProgress{Due: api.At(s.engine.Clock().Add(sealEvery))})
		if errors.Is(err, storage.ErrExists) {
			return nil
		}
		return err
	})
}

// sealJob returns the job that repeatedly passes over all accounts and seals the entries booked
// since the last pass. It stores its place between runs.
func (s *Service) sealJob() work.Job {
	return work.Job{
		Kind: sealProgressRecords.Kind(), Timeout: sealLimit, Batch: 1,
		RunBatch: work.Pass(sealProgressRecords, s.engine.Store, s.continueSealPass),
	}
}

// continueSealPass continues a pass until its end, or until half of the limit is over.
func (s *Service) continueSealPass(ctx context.Context, pass *sealProgress) error {
	if pass.Began == nil {
		pass.Began, pass.After, pass.Refused = new(api.At(s.engine.Clock())), "", nil
	}
	enough := func() bool { return work.HalfOver(ctx, sealLimit) }
	for {
		step, err := s.sealStep(ctx, pass.After, enough)
		pass.After, pass.Refused = step.after, oldest(pass.Refused, step.refused)
		switch {
		case err != nil:
			pass.Due = api.At(s.engine.Clock().Add(sealRetry))
			return fmt.Errorf("account: seal: %w", err)
		case step.end:
			next := pass.Began.Add(sealEvery)
			if now := s.engine.Clock(); next.Before(now) {
				next = now
			}
			pass.Unsealed = oldest(pass.Began, pass.Refused)
			pass.Due, pass.Began, pass.After, pass.Refused = api.At(next), nil, "", nil
			return nil
		case enough():
			pass.Due = api.At(s.engine.Clock())
			return nil
		}
	}
}

// oldest returns the earlier of two times. Nil stands for no time.
func oldest(a, b *api.Time) *api.Time {
	if a == nil || b != nil && b.Before(a.Time) {
		return b
	}
	return a
}

func (s *Service) Seal(ctx context.Context) (int64, error) {
	var sealed int64
	for after := ""; ; {
		step, err := s.sealStep(ctx, after, func() bool { return false })
		if sealed += step.sealed; err != nil {
			return sealed, fmt.Errorf("account: seal: %w", err)
		}
		if step.end {
			return sealed, nil
		}
		after = step.after
	}
}

// Unsealed returns a time before which every entry has a seal, or nil for an empty ledger. It
// takes two reads for a ledger of any size.
func (*Service) Unsealed(tx storage.ReadTx) (*api.Time, error) {
	first, err := tx.Postings("", 1)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	o, err := sealProgressRecords.Get(tx, storage.Scope{}, sealerID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	if o == nil || o.Value.Unsealed == nil {
		return new(api.At(first[0].At)), nil
	}
	return oldest(o.Value.Unsealed, o.Value.Refused), nil
}

// sealedStep is the result of one step of a pass.
type sealedStep struct {
	after   string // the pass has done every account up to this one
	end     bool   // no accounts follow
	sealed  int64
	refused *api.Time // as in sealProgress
}

// unsealed is an account with entries that have no seal.
type unsealed struct {
	account string
	entries int64
	head    *storage.Object[sealHead] // nil where nothing is sealed
	damaged bool                      // its head cannot be decoded
}

// sealStep seals the accounts of the page after a given one. It reads entries in Views, which
// block nothing, and writes the seals of many accounts in one Update. The step ends between two
// batches once enough returns true. step.after is then the last account up to which every account is done.
func (s *Service) sealStep(ctx context.Context, after string, enough func() bool) (step sealedStep, err error) {
	step.after = after
	var open []unsealed
	last, end := after, false
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		page, err := tx.Balances(after, sealPage)
		if err != nil {
			return err
		}
		heads, err := headsAfter(tx, after, sealPage)
		if err != nil {
			return err
		}
		open, end = open[:0], len(page) < sealPage
		for _, b := range page {
			last = b.Account
			head, known := heads[b.Account]
			if head == nil || head.Value.Entries < b.Entries {
				open = append(open, unsealed{b.Account, b.Entries, head, known && head == nil})
			}
		}
		return nil
	})
	if err != nil {
		return step, err
	}
	done, err := s.sealOpen(ctx, open, &step, enough)
	if err == nil && done == len(open) {
		step.after, step.end = last, end
	} else if done > 0 {
		step.after = open[done-1].account
	}
	return step, err
}

// sealReaders is the number of Views that read accounts concurrently. Their waits for a distant
// database overlap.
const sealReaders = 4

// sealOpen seals accounts, and returns how many of them, from the first on, are done.
func (s *Service) sealOpen(ctx context.Context, open []unsealed, step *sealedStep, enough func() bool) (done int, err error) {
	type part struct {
		open []unsealed
		done int
		sealedStep
		err error
	}
	var parts []*part
	for accounts := range slices.Chunk(open, len(open)/sealReaders+1) {
		parts = append(parts, &part{open: accounts})
	}
	var all sync.WaitGroup
	for _, p := range parts {
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil { // the host's store may panic
					p.err = fmt.Errorf("panic: %v", r)
				}
			}()
			p.done, p.err = s.sealPart(ctx, p.open, &p.sealedStep, enough)
		})
	}
	all.Wait()
	whole := true
	for _, p := range parts {
		step.sealed += p.sealed
		step.refused = oldest(step.refused, p.refused)
		if whole {
			done += p.done
		}
		whole = whole && p.done == len(p.open)
		if err == nil {
			err = p.err
		}
	}
	return done, err
}

// sealPart seals accounts one after the other, and returns how many are done.
func (s *Service) sealPart(ctx context.Context, open []unsealed, step *sealedStep, enough func() bool) (done int, err error) {
	for n := len(open); len(open) > 0; done = n - len(open) {
		batch, left, err := s.readBatch(ctx, open, step)
		if err != nil {
			return done, err
		}
		if err := s.writeBatch(ctx, batch, step); err != nil {
			return done, err
		}
		if len(left) > 0 && len(batch) > 0 {
			switch b := batch[len(batch)-1]; {
			case b.head.ID != left[0].account:
			case b.written == nil:
				left = left[1:]
			default: // the account is partly sealed, and the next batch continues there
				left[0].head = b.written
			}
		}
		if open = left; len(open) > 0 && enough() {
			return n - len(open), nil
		}
	}
	return done, nil
}

// headsAfter returns the seal heads of the first accounts with a name after the given one; nil
// for a head that cannot be decoded.
func headsAfter(tx storage.ReadTx, after string, limit int) (map[string]*storage.Object[sealHead], error) {
	if limit == 0 {
		return nil, nil
	}
	if after == "" {
		after = "\x01" // sorts before every name; no cursor would start with the last page
	}
	page, err := tx.List(sealHeads.Kind(), storage.Query{Before: after, Limit: limit, Bare: true})
	if err != nil {
		return nil, err
	}
	heads := make(map[string]*storage.Object[sealHead], len(page))
	for _, r := range page {
		o, err := sealHeads.Decode(r)
		if err != nil {
			o = nil
		}
		heads[r.ID] = o
	}
	return heads, nil
}
