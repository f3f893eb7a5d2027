package memory

import (
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

func (t *tx) Post(p storage.Posting) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	if _, ok := t.state.postings.Get(p.ID); ok {
		return storage.ErrExists
	}
	// Check all moves before booking the first.
	after := make([]storage.Balance, len(p.Moves))
	for i, m := range p.Moves {
		now, _ := t.state.balances.Get(m.Account)
		var err error
		if after[i], err = storage.Apply(now, m); err != nil {
			return err
		}
	}
	booked := storage.Booked{ID: p.ID, Type: p.Type, Ref: p.Ref, At: p.At}
	for i, m := range p.Moves {
		e := storage.Entry{
			Account: m.Account, Number: after[i].Entries, Amount: m.Amount, Balance: after[i].Amount,
			Posting: p.ID, Type: p.Type, Ref: p.Ref, At: p.At,
		}
		booked.Entries = append(booked.Entries, e)
		t.state.balances.Set(m.Account, after[i])
		t.state.entries.Set(entryKey(m.Account, e.Number), e)
	}
	t.state.postings.Set(p.ID, booked)
	return nil
}

func (t *tx) Balance(account string) (storage.Balance, error) {
	if err := t.usable(); err != nil {
		return storage.Balance{}, err
	}
	b, ok := t.state.balances.Get(account)
	if !ok {
		b.Account = account
	}
	return b, nil
}

func (t *tx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	var page []storage.Balance
	t.state.balances.Ascend(after, func(name string, b storage.Balance) bool {
		if len(page) >= limit {
			return false
		}
		if name > after {
			page = append(page, b)
		}
		return true
	})
	return page, nil
}

func (t *tx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	newest, _ := t.state.balances.Get(account)
	n := newest.Entries
	if before > 0 {
		n = min(n, before-1)
	}
	var page []storage.Entry
	for ; n > 0 && len(page) < limit; n-- {
		e, _ := t.state.entries.Get(entryKey(account, n))
		page = append(page, e)
	}
	return page, nil
}

func (t *tx) Posting(id string) (storage.Booked, error) {
	if err := t.usable(); err != nil {
		return storage.Booked{}, err
	}
	p, ok := t.state.postings.Get(id)
	if !ok {
		return storage.Booked{}, storage.ErrNotFound
	}
	p.Entries = slices.Clone(p.Entries)
	return p, nil
}

func (t *tx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	var page []storage.Booked
	t.state.postings.Ascend(after, func(id string, p storage.Booked) bool {
		if len(page) >= limit {
			return false
		}
		if id > after {
			p.Entries = slices.Clone(p.Entries)
			page = append(page, p)
		}
		return true
	})
	return page, nil
}
