package party

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// sealing holds the seals to write for one account.
type sealing struct {
	head     *storage.Object[sealHead] // as read; without a version if the store has none
	upTo     int64                     // the last entry that will have a seal
	since    time.Time                 // of the first entry without a seal
	segments []sealedSegment
	// written is the head after the write. It is nil when another worker was faster, or when the
	// account disagrees with its seals.
	written *storage.Object[sealHead]
}

type sealedSegment struct {
	number   int64
	stored   *storage.Object[seal] // nil where there is none
	computed seal
}

// readBudget counts the reads of one transaction against its limits.
type readBudget struct{ rows, bytes int }

func (r *readBudget) full() bool { return r.rows >= sealRows || r.bytes >= sealBytes }

func (r *readBudget) spend(entries []storage.Entry) {
	r.rows += len(entries)
	for i := range entries {
		e := &entries[i]
		r.bytes += len(e.Posting) + len(e.Type) + len(e.Ref) + markBytes
	}
}

// readBatch computes the seals of the first accounts, within the limits of rows and time of one
// transaction. It returns the remaining accounts. An account with very many entries takes several
// batches, and stays first until it is done.
func (s *Service) readBatch(ctx context.Context, open []unsealed, step *sealedStep) (batch []*sealing, left []unsealed, err error) {
	var refused *api.Time
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		batch, left, refused = nil, open, nil
		begin := time.Now()
		var first map[string][]storage.Entry
		for r := (readBudget{}); len(left) > 0 && !r.full() && time.Since(begin) <= sealTxTime; r.rows += accountRows {
			if _, read := first[left[0].account]; !read && left[0].isNew() {
				var err error
				if first, err = firstEntries(tx, left, r); err != nil {
					return err
				}
			}
			b, err := s.readAccount(tx, &left[0], first[left[0].account], &r)
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
				return nil // the next batch seals the rest of it
			}
			left = left[1:]
		}
		return nil
	})
	step.refused = oldest(step.refused, refused)
	return batch, left, err
}

// isNew reports whether nothing of an account is sealed yet.
func (u *unsealed) isNew() bool { return u.head == nil && !u.damaged }

// firstEntries reads the first segments of the new accounts at the front of the list, up to the
// limit, in one query. Otherwise a million new accounts would take a million round trips. If the
// store reads one account at a time, firstEntries reads only one, since the transaction has to
// end in time.
func firstEntries(tx storage.ReadTx, left []unsealed, r readBudget) (map[string][]storage.Entry, error) {
	if _, ok := tx.(storage.EntriesReader); !ok {
		left = left[:1]
	}
	var names []string
	for i := 0; i < len(left) && left[i].isNew() && !r.full(); i++ {
		names = append(names, left[i].account)
		r.rows += accountRows + int(min(left[i].entries, segmentEntries))
	}
	return storage.FirstEntries(tx, names, segmentEntries)
}

// disagreement says why an account cannot be sealed. A seal over changed entries would vouch for
// the change.
type disagreement struct {
	problem string
	since   time.Time // of the first entry without a seal
}

func (d *disagreement) Error() string { return d.problem }

// readAccount computes the seals of an account, segment by segment, up to the limit but for at
// least one segment. With a disagreement it also returns the seals before it. first holds the
// entries of a new account's first segment.
func (s *Service) readAccount(tx storage.ReadTx, u *unsealed, first []storage.Entry, r *readBudget) (*sealing, error) {
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
		number := b.upTo / segmentEntries
		sealed, last := b.upTo-number*segmentEntries, min(u.entries, (number+1)*segmentEntries)
		var entries []storage.Entry
		var problem string
		var err error
		if number == 0 && u.isNew() {
			entries, problem = checkComplete(u.account, 1, last, first[:min(last, int64(len(first)))])
		} else if entries, problem, err = segmentOf(tx, u.account, number, last); err != nil {
			return b, err
		}
		r.spend(entries)
		fresh := entries[min(sealed, int64(len(entries))):]
		if problem != "" {
			return b, disagrees(problem, fresh, s.engine.Clock())
		}
		var before []byte
		var kept *storage.Object[seal]
		if n := len(b.segments); n > 0 {
			before = b.segments[n-1].computed.MAC
		} else {
			b.since = fresh[0].At
		}
		if len(b.segments) == 0 && u.head != nil { // without a head there is no seal, or else the insert finds it
			before, kept, problem, err = s.sealsBefore(tx, u.account, number, entries[:sealed])
			if err != nil {
				return b, err
			}
			if problem != "" {
				return b, disagrees(problem, fresh, s.engine.Clock())
			}
		}
		b.segments = append(b.segments, sealedSegment{number, kept, s.newSeal(u.account, entries, before)})
		b.upTo = last
	}
	return b, nil
}

// disagrees makes a disagreement. It takes the time of the first unsealed entry, or now if there
// is none.
func disagrees(problem string, entries []storage.Entry, now time.Time) *disagreement {
	if len(entries) > 0 {
		now = entries[0].At
	}
	return &disagreement{problem, now}
}

// sealsBefore returns the MAC of the segment before one, and the segment's own seal. It compares
// that seal with the given entries.
func (s *Service) sealsBefore(tx storage.ReadTx, account string, number int64, entries []storage.Entry) (before []byte, kept *storage.Object[seal], problem string, err error) {
	previous, kept, err := lastSeals(tx, account, number)
	var bad *unreadable
	switch {
	case errors.As(err, &bad):
		return nil, nil, bad.Error(), nil
	case err != nil:
		return nil, nil, "", err
	case number > 0 && previous == nil, kept == nil && len(entries) > 0:
		return nil, nil, fmt.Sprintf("account %s: a seal of entries up to %d was removed", account, number*segmentEntries+int64(len(entries))), nil
	}
	if previous != nil {
		before = previous.Value.MAC
	}
	if kept != nil {
		_, problem = s.checkSeal(account, number, entries, before, kept)
	}
	return before, kept, problem, nil
}

// writeBatch writes seals in short transactions, even when the database is far away.
func (s *Service) writeBatch(ctx context.Context, batch []*sealing, step *sealedStep) error {
	for len(batch) > 0 {
		var done int
		var sealed int64
		var failed *sealing
		err := s.engine.Store.Update(ctx, func(tx storage.Tx) error {
			begin := time.Now()
			done, sealed, failed = 0, 0, nil
			for _, b := range batch {
				if done > 0 && time.Since(begin) > sealTxTime {
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
	// errFaster says that another worker has sealed the account since the read.
	errFaster = errors.New("account: sealed by another worker")
	// errSealed says that a seal has changed although the account's head has not.
	errSealed = errors.New("account: a seal is there that the sealer has not made")
)

func (b *sealing) write(tx storage.Tx) error {
	b.written = nil
	head := *b.head
	head.Value.Entries = b.upTo
	if err := sealHeads.Put(tx, &head); err != nil {
		return taken(err, errFaster)
	}
	for _, segment := range b.segments {
		kept := storage.Object[seal]{ID: sealID(head.ID, segment.number)}
		if segment.stored != nil {
			kept = *segment.stored
		}
		kept.Value = segment.computed
		if err := seals.Put(tx, &kept); err != nil {
			return taken(err, errSealed)
		}
	}
	b.written = &head
	return nil
}

// taken returns instead for an error that says that another writer was first, and else err.
func taken(err, instead error) error {
	for _, by := range []error{storage.ErrExists, storage.ErrConflict, storage.ErrNotFound} {
		if errors.Is(err, by) {
			return instead
		}
	}
	return err
}
