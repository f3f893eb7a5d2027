package party

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

func wants(p *account.ListEntriesParams, e *storage.Entry) bool {
	return (p.Type == "" || e.Type == p.Type) && (p.Source == "" || e.Ref == p.Source)
}

func (s *Service) ListEntries(ctx context.Context, caller api.Caller, p account.ListEntriesParams) (*api.List[account.Entry], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var list *api.List[account.Entry]
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		reader := entryReader{tx, ledger.Available(caller.Merchant, caller.Live).Name}
		span, err := reader.span(p.Created)
		if err != nil {
			return err
		}
		found, more, err := reader.page(&p, span)
		if err != nil {
			return err
		}
		data := make([]account.Entry, len(found))
		for i := range found {
			data[i] = shownEntry(&found[i])
		}
		list = api.NewList("/v1/balance/entries", data, more)
		return nil
	})
	return list, err
}

func shownEntry(e *storage.Entry) account.Entry {
	return account.Entry{
		ID: e.Posting, Object: "balance_entry", Type: e.Type, Source: e.Ref,
		Amount: api.FromPesewas(e.Amount), Balance: api.FromPesewas(e.Balance),
		Currency: api.Currency, CreatedAt: api.At(e.At),
	}
}

// entryReader reads the entries of one account. Their numbers begin with 1 and have no holes, and
// they never change.
type entryReader struct {
	tx      storage.ReadTx
	account string
}

// span is the range of entry numbers from first to end, without end.
type span struct{ first, end int64 }

// chunk is the number of entries that one read fetches.
const chunk = 500

// read returns the entries of a span, the oldest first.
func (b entryReader) read(s span) ([]storage.Entry, error) {
	if s.first >= s.end {
		return nil, nil
	}
	entries, err := b.tx.Entries(b.account, s.end, int(s.end-s.first))
	if err != nil {
		return nil, fmt.Errorf("account: read entries: %w", err)
	}
	slices.Reverse(entries)
	return entries, nil
}

// page returns the entries of a span for one page, the newest first, and whether there are more
// in its direction.
func (b entryReader) page(p *account.ListEntriesParams, s span) (found []storage.Entry, more bool, err error) {
	param, id := p.Cursor()
	if id != "" {
		at, err := b.number(id)
		if err != nil {
			return nil, false, err
		}
		if at == 0 {
			return nil, false, api.NoSuchCursor(param, "balance entry")
		}
		if p.StartingAfter != "" {
			s.end = min(s.end, at)
		} else {
			s.first = max(s.first, at+1)
		}
	}
	forward, size := p.EndingBefore != "", p.Size()
	for s.first < s.end && len(found) <= size {
		// Without a filter, the first chunk is the page and one entry more.
		n := min(chunk, s.end-s.first)
		if p.Type == "" && p.Source == "" {
			n = min(n, int64(size+1-len(found)))
		}
		part := span{s.end - n, s.end}
		if forward {
			part = span{s.first, s.first + n}
		}
		entries, err := b.read(part)
		if err != nil {
			return nil, false, err
		}
		if forward {
			s.first = part.end
		} else {
			s.end = part.first
			slices.Reverse(entries)
		}
		for i := range entries {
			if wants(p, &entries[i]) {
				found = append(found, entries[i])
			}
		}
	}
	if more = len(found) > size; more {
		found = found[:size]
	}
	if forward {
		slices.Reverse(found)
	}
	return found, more, nil
}

// number returns the number of the account's entry from a posting, or 0.
func (b entryReader) number(posting string) (int64, error) {
	booked, err := b.tx.Posting(posting)
	if errors.Is(err, storage.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("account: read posting: %w", err)
	}
	for _, e := range booked.Entries {
		if e.Account == b.account {
			return e.Number, nil
		}
	}
	return 0, nil
}

func (b entryReader) span(period api.Times) (s span, err error) {
	balance, err := b.tx.Balance(b.account)
	if err != nil {
		return s, fmt.Errorf("account: balance: %w", err)
	}
	s = span{1, balance.Entries + 1}
	if !period.Until.IsZero() {
		if s.end, err = b.since(period.Until, balance.Entries); err != nil {
			return s, err
		}
	}
	if !period.From.IsZero() {
		s.first, err = b.since(period.From, balance.Entries)
	}
	s.first = min(s.first, s.end) // a period that ends before it begins is empty
	return s, err
}

// skew is the largest difference between the clocks of processes that share a store.
const skew = time.Minute

// since returns the number of the first entry that is not older than t, or the one after the
// last. Entries are in the order of their times, except for clock skew. Once t has passed by the
// skew, later entries no longer change the answer.
func (b entryReader) since(t time.Time, count int64) (int64, error) {
	t = storage.Instant(t)
	low, high := int64(1), count+1 // binary search, exact except for skew
	for low < high {
		middle := low + (high-low)/2
		at, err := b.read(span{middle, middle + 1})
		if err != nil {
			return 0, err
		}
		if len(at) != 1 {
			return 0, fmt.Errorf("account: entry %d of %s is missing", middle, b.account)
		}
		if at[0].At.Before(t) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// Earlier entries may also be at or after t, because of skew. The search stops at an entry
	// that is older than t by more than the skew.
	first := low
	for end := low; end > 1; {
		part := span{max(1, end-chunk), end}
		entries, err := b.read(part)
		if err != nil {
			return 0, err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			e := &entries[i]
			if e.At.Before(t.Add(-skew)) {
				return first, nil
			}
			if !e.At.Before(t) {
				first = e.Number
			}
		}
		end = part.first
	}
	return first, nil
}

// entriesOf runs fn on the entries of a span, the oldest first. It reads one chunk in each View,
// so no View lasts long.
func (s *Service) entriesOf(ctx context.Context, account string, all span, fn func(*storage.Entry) error) error {
	for at := all.first; at < all.end; {
		part := span{at, min(all.end, at+chunk)}
		var entries []storage.Entry
		err := s.engine.View(ctx, api.Caller{}, func(tx *engine.ReadTx) error {
			var err error
			entries, err = entryReader{tx, account}.read(part)
			return err
		})
		if err != nil {
			return err
		}
		if int64(len(entries)) != part.end-part.first {
			return fmt.Errorf("account: entries of %s are missing", account)
		}
		for i := range entries {
			if err := fn(&entries[i]); err != nil {
				return err
			}
		}
		at = part.end
	}
	return nil
}
