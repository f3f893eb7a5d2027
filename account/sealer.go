package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/storage"
)

// SealWithin is how long after its booking an entry has a seal, as long as the
// background work runs. [Service.Verify] reports entries that have waited for longer.
const SealWithin = 10 * time.Minute

const (
	// sealEvery is the time from the beginning of one pass over all accounts to the
	// beginning of the next. The rest of SealWithin is for the pass itself.
	sealEvery = SealWithin / 2
	// sealRetry is the time until a pass goes on that the store has failed.
	sealRetry = 30 * time.Second
	// sealLease is the lease of one run of the worker. It works for half of it, so that
	// the time to keep its place is left.
	sealLease = time.Minute

	// sealPage is how many accounts the worker compares with their seals by two reads.
	sealPage = 1000
	// sealRows and sealBytes bound what is read for one transaction; each account counts
	// for accountRows beside its entries.
	sealRows  = 1000
	sealBytes = 1 << 20
	// sealHold is for how long one transaction writes seals, since all that write wait
	// for it where the database is far away.
	sealHold = 50 * time.Millisecond
)

// sealer is the one record by whose due time the worker comes.
type sealer struct {
	Due api.Time `json:"due"`
	// Began is when the pass under way began; nil between two passes. After is the
	// account up to which it has come.
	Began *api.Time `json:"began,omitempty"`
	After string    `json:"after,omitempty"`
	// Refused is the oldest entry that the pass under way cannot seal, since the ledger
	// and its seals do not agree there; nil for none.
	Refused *api.Time `json:"refused,omitempty"`
	// Unsealed is the outcome of the last pass: every entry that was booked before has
	// a seal. It is nil before the first pass has ended.
	Unsealed *api.Time `json:"unsealed,omitempty"`
}

const sealerID = "sealer"

var sealers = storage.NewCollection("sealers", []storage.Field[sealer]{{
	Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
	Value:  func(s *sealer) any { return s.Due.Time },
}}, storage.DueBy("due"))

// SealWith gives the service the server's key and makes room for the sealer, which
// [Service.SealJob] runs.
func (s *Service) SealWith(ctx context.Context, key []byte) error {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("ledger seals"))
	s.sealKey = h.Sum(nil)
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		_, err := sealers.Get(tx, storage.Scope{}, sealerID)
		return err
	})
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		_, err := sealers.Insert(tx, storage.Scope{}, sealerID, sealer{Due: api.At(s.engine.Clock().Add(sealEvery))})
		if errors.Is(err, storage.ErrExists) {
			return nil
		}
		return err
	})
}

// Inside makes the service, which works inside the host's transaction, one with another
// that does not: it seals with the same key, and a key that it ends is ended there.
func (s *Service) Inside(other *Service) { s.sealKey, s.known = other.sealKey, other.known }

// SealJob is the job that passes over all accounts, again and again, and seals what was
// booked since the last pass. It keeps its place between two runs.
func (s *Service) SealJob() due.Job {
	return due.Job{
		Kind: sealers.Kind(), Lease: sealLease, Batch: 1,
		Run: func(ctx context.Context, records []storage.Record) error {
			o, err := sealers.Decode(records[0])
			if err != nil {
				return err
			}
			failed := s.sealOn(ctx, &o.Value)
			err = s.engine.Store.Update(ctx, func(tx storage.Tx) error {
				kept := *o // a run that is undone leaves the claimed version as it is
				return sealers.Replace(tx, &kept)
			})
			if errors.Is(err, storage.ErrConflict) {
				err = nil // the lease has ended, and another worker has gone on
			}
			return errors.Join(failed, err)
		},
	}
}

// sealOn goes on with a pass until its end, or until half of the lease is over.
func (s *Service) sealOn(ctx context.Context, pass *sealer) error {
	if pass.Began == nil {
		pass.Began, pass.After, pass.Refused = new(api.At(s.engine.Clock())), "", nil
	}
	enough := func() bool { return due.HalfOver(ctx, sealLease) }
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

// oldest returns the earlier of two times, of which nil is none.
func oldest(a, b *api.Time) *api.Time {
	if a == nil || b != nil && b.Before(a.Time) {
		return b
	}
	return a
}

// Seal seals every entry that was booked before, and returns how many were not
// sealed yet. The background work does so by itself, within [SealWithin] of the
// booking; a host may, too, before a backup say. Entries that are booked meanwhile
// wait for the next time. It reads each account once, in short transactions, and may
// run beside traffic and beside the background work. After an error, what was sealed
// stays sealed.
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

// UnsealedTx returns a time before which every entry has a seal; nil when nothing was
// ever booked. It takes two reads, however large the ledger.
func (s *Service) UnsealedTx(tx storage.ReadTx) (*api.Time, error) {
	first, err := tx.Postings("", 1)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	o, err := sealers.Get(tx, storage.Scope{}, sealerID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	if o == nil || o.Value.Unsealed == nil {
		return new(api.At(first[0].At)), nil
	}
	return oldest(o.Value.Unsealed, o.Value.Refused), nil
}

// sealedStep is what one step of a pass has come to.
type sealedStep struct {
	after   string // every account up to this one was looked at
	end     bool   // and there are no more
	sealed  int64
	refused *api.Time // as in sealer
}

// unsealed is an account with entries that have no seal.
type unsealed struct {
	account string
	entries int64
	head    *storage.Object[sealHead] // nil where nothing is sealed
	damaged bool                      // its head cannot be read
}

// sealStep seals the accounts of the page after one. Entries are read in Views, which
// hold up nothing; an Update writes the seals of many accounts. The step ends between
// two batches once it was enough.
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
	for len(open) > 0 {
		batch, left, err := s.readBatch(ctx, open, &step)
		if err != nil {
			return step, err
		}
		if err := s.writeBatch(ctx, batch, &step); err != nil {
			return step, err
		}
		if len(left) > 0 && len(batch) > 0 {
			switch b := batch[len(batch)-1]; {
			case b.head.ID != left[0].account:
			case b.written == nil:
				left = left[1:]
			default: // a part of it is sealed, and it goes on from there
				left[0].head = b.written
			}
		}
		if done := len(open) - len(left); done > 0 {
			step.after = open[done-1].account
		}
		if open = left; len(open) > 0 && enough() {
			return step, nil
		}
	}
	step.after, step.end = last, end
	return step, nil
}

// headsAfter returns how far the accounts with a name after one are sealed, the first
// of them; nil for one that cannot be read.
func headsAfter(tx storage.ReadTx, after string, limit int) (map[string]*storage.Object[sealHead], error) {
	if limit == 0 {
		return nil, nil
	}
	if after == "" {
		after = "\x01" // before every name; no cursor would begin with the last
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

// sealing is what is to be written for one account.
type sealing struct {
	head     *storage.Object[sealHead] // as it was read; without a version where there is none
	upTo     int64                     // the last entry that will have a seal
	since    time.Time                 // of the first entry without a seal
	segments []sealedSegment
	// written is the head as it was written; nil when another worker was faster, or the
	// account is not sealed for a disagreement.
	written *storage.Object[sealHead]
}

type sealedSegment struct {
	number int64
	kept   *storage.Object[seal] // nil where there is none
	fresh  seal
}

// room is what one transaction has room for.
type room struct{ rows, bytes int }

func (r *room) full() bool { return r.rows >= sealRows || r.bytes >= sealBytes }

func (r *room) take(entries []storage.Entry) {
	r.rows += len(entries)
	for i := range entries {
		e := &entries[i]
		r.bytes += len(e.Posting) + len(e.Type) + len(e.Ref) + mark
	}
}

// readBatch computes the seals of the first of some accounts, as many as there is room
// for in one transaction, and returns the accounts that are left. An account with very
// many entries is done in parts, and is then the first of those.
func (s *Service) readBatch(ctx context.Context, open []unsealed, step *sealedStep) (batch []*sealing, left []unsealed, err error) {
	var refused *api.Time
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		batch, left, refused = nil, open, nil
		for r := (room{}); len(left) > 0 && !r.full(); r.rows += accountRows {
			b, err := s.readAccount(tx, &left[0], &r)
			var bad *disagreement
			if errors.As(err, &bad) {
				s.engine.Log.ErrorContext(ctx, "new entries of an account are not sealed, since the ledger and its seals do not agree; see Verify", "problem", bad.problem)
				refused = oldest(refused, new(api.At(bad.since)))
			} else if err != nil {
				return err
			}
			if len(b.segments) > 0 {
				batch = append(batch, b)
			}
			if bad == nil && b.upTo < left[0].entries {
				return nil // the rest of it is for the next batch
			}
			left = left[1:]
		}
		return nil
	})
	step.refused = oldest(step.refused, refused)
	return batch, left, err
}

// disagreement is why an account is not sealed: a seal over what was changed would be
// the server's word for it.
type disagreement struct {
	problem string
	since   time.Time // of the first entry without a seal
}

func (d *disagreement) Error() string { return d.problem }

// readAccount computes the seals of an account, segment by segment, as far as there is
// room; of one segment at least. A disagreement comes with the seals before it.
func (s *Service) readAccount(tx storage.ReadTx, u *unsealed, r *room) (*sealing, error) {
	b := &sealing{head: u.head}
	if b.head == nil {
		b.head = &storage.Object[sealHead]{ID: u.account}
	}
	b.upTo = b.head.Value.Entries
	if u.damaged {
		first, err := tx.Entries(u.account, 2, 1)
		if err != nil {
			return b, err
		}
		return b, disagrees("account "+u.account+": the record of how far it is sealed cannot be read", first, s.engine.Clock())
	}
	for b.upTo < u.entries && (len(b.segments) == 0 || !r.full()) {
		number := b.upTo / segment
		sealed, last := b.upTo-number*segment, min(u.entries, (number+1)*segment)
		entries, problem, err := segmentOf(tx, u.account, number, last)
		if err != nil {
			return b, err
		}
		r.take(entries)
		fresh := entries[min(sealed, int64(len(entries))):]
		if problem != "" {
			return b, disagrees(problem, fresh, s.engine.Clock())
		}
		var before []byte
		var kept *storage.Object[seal]
		if n := len(b.segments); n > 0 {
			before = b.segments[n-1].fresh.MAC
		} else {
			b.since = fresh[0].At
		}
		if len(b.segments) == 0 && u.head != nil { // else no seal is there, or its insert fails
			before, kept, problem, err = s.sealsBefore(tx, u.account, number, entries[:sealed])
			if err != nil {
				return b, err
			}
			if problem != "" {
				return b, disagrees(problem, fresh, s.engine.Clock())
			}
		}
		mac, marks := s.mac(u.account, entries, before)
		b.segments = append(b.segments, sealedSegment{number, kept, seal{Marks: marks, MAC: mac}})
		b.upTo = last
	}
	return b, nil
}

// disagrees says since when there are entries that are not sealed: the first of these,
// or now when there are none.
func disagrees(problem string, entries []storage.Entry, now time.Time) *disagreement {
	if len(entries) > 0 {
		now = entries[0].At
	}
	return &disagreement{problem, now}
}

// sealsBefore returns the MAC of the segment before one, and the one's own seal, which
// covers the given entries and is compared with them.
func (s *Service) sealsBefore(tx storage.ReadTx, account string, number int64, entries []storage.Entry) (before []byte, kept *storage.Object[seal], problem string, err error) {
	previous, kept, err := lastSeals(tx, account, number)
	var bad *unreadable
	switch {
	case errors.As(err, &bad):
		return nil, nil, bad.Error(), nil
	case err != nil:
		return nil, nil, "", err
	case number > 0 && previous == nil, kept == nil && len(entries) > 0:
		return nil, nil, fmt.Sprintf("account %s: a seal of entries up to %d was removed", account, number*segment+int64(len(entries))), nil
	}
	if previous != nil {
		before = previous.Value.MAC
	}
	if kept != nil {
		_, problem = s.check(account, number, entries, before, kept)
	}
	return before, kept, problem, nil
}

// writeBatch writes seals, in transactions that are short though the database is far.
func (s *Service) writeBatch(ctx context.Context, batch []*sealing, step *sealedStep) error {
	for len(batch) > 0 {
		var done int
		var sealed int64
		var failed *sealing
		err := s.engine.Store.Update(ctx, func(tx storage.Tx) error {
			begin := time.Now()
			done, sealed, failed = 0, 0, nil
			for _, b := range batch {
				if done > 0 && time.Since(begin) > sealHold {
					return nil
				}
				err := b.write(tx)
				switch {
				case errors.Is(err, errFaster):
				case errors.Is(err, errSealed):
					failed = b
					return err
				case err != nil:
					return err
				default:
					sealed += b.upTo - b.head.Value.Entries
				}
				done++
			}
			return nil
		})
		if failed != nil {
			s.engine.Log.ErrorContext(ctx, "new entries of an account are not sealed, since the ledger and its seals do not agree; see Verify", "account", failed.head.ID)
			step.refused = oldest(step.refused, new(api.At(failed.since)))
			batch = slices.DeleteFunc(slices.Clone(batch), func(b *sealing) bool { return b == failed })
			continue
		}
		if err != nil {
			return err
		}
		step.sealed += sealed
		batch = batch[done:]
	}
	return nil
}

var (
	// errFaster: another worker has sealed the account since it was read.
	errFaster = errors.New("account: sealed by another worker")
	// errSealed: a seal changed without the head that says how far the account is sealed.
	errSealed = errors.New("account: a seal is there that the sealer has not made")
)

// write writes the seals of one account.
func (b *sealing) write(tx storage.Tx) error {
	b.written = nil
	head := *b.head
	head.Value.Entries = b.upTo
	if head.Version == 0 {
		made, err := sealHeads.Insert(tx, storage.Scope{}, head.ID, head.Value)
		if err != nil {
			return taken(err, errFaster)
		}
		head = *made
	} else if err := sealHeads.Replace(tx, &head); err != nil {
		return taken(err, errFaster)
	}
	for _, segment := range b.segments {
		var err error
		if segment.kept == nil {
			_, err = seals.Insert(tx, storage.Scope{}, sealID(head.ID, segment.number), segment.fresh)
		} else {
			kept := *segment.kept
			kept.Value = segment.fresh
			err = seals.Replace(tx, &kept)
		}
		if err != nil {
			return taken(err, errSealed)
		}
	}
	b.written = &head
	return nil
}

// taken returns another error in place of one that says that the record was written by
// somebody else.
func taken(err, instead error) error {
	for _, by := range []error{storage.ErrExists, storage.ErrConflict, storage.ErrNotFound} {
		if errors.Is(err, by) {
			return instead
		}
	}
	return err
}
