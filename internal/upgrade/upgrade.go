// Package upgrade brings the records of a database to the form that this program writes.
//
// It owns the version of that form, which the database stores, and the passes that lead to it. So no
// other package reads records of an earlier form. The passes change the stored documents themselves,
// because the Go types know the present form only.
//
// The columns of the tables are another matter: the stores bring them up to date; see [storage.Kind].
package upgrade

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// Version is the form of the records that this program reads and writes. A database without a version
// has the form before the first one.
const Version = 2

// page bounds the records that one transaction reads and writes. Writers of other processes wait for it.
const page = 200

// state is the only record of its kind. It stores the version, and how far the passes to the next one have come.
type state struct {
	// Version is the form of all records. If Kind is set, some records have the next form already.
	Version int `json:"version"`
	// Kind is the kind whose pass runs; empty before the first pass. Scope and ID name the last record that
	// the pass has visited.
	Kind  string        `json:"kind,omitempty"`
	Scope storage.Scope `json:"scope,omitzero"`
	ID    string        `json:"id,omitempty"`
}

const stateID = "version"

var states = storage.NewCollection[state]("data_version", nil)

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{states.Kind()} }

// Run brings all records of a store to the present form, and returns when they have it. kinds are those of
// the library, which the store has defined. A store without records only gets the version.
//
// Every transaction changes a page of records and notes the place. So Run goes on after a crash at the
// place, and several processes may run it at once. A migration of the stores keeps programs that write the
// earlier form from writing meanwhile.
//
// Run fails with [storage.ErrNewer] if the records have a later form. It also fails if the last program before
// Version 1 has not ended the upgrade of its own database. It may have changed records then, which that program
// cannot read: the host restores its backup, and runs that program until it has nothing left to do.
func Run(ctx context.Context, store storage.Store, kinds []*storage.Kind) error {
	version, fresh, err := look(ctx, store, kinds)
	if err == nil && version < Version && !fresh {
		err = store.Define(ctx, formerOf(version)...)
	}
	for done := version == Version; err == nil && !done; {
		done, err = step(ctx, store, kinds, fresh)
	}
	if err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return nil
}

// look returns the version of a store, and whether it has no records at all.
func look(ctx context.Context, store storage.Store, kinds []*storage.Kind) (version int, fresh bool, err error) {
	err = store.View(ctx, func(tx storage.ReadTx) error {
		o, err := states.GetOrNew(tx, storage.Scope{}, stateID)
		if err != nil {
			return err
		}
		if o.Version == 0 {
			fresh, err = empty(tx, kinds)
			return err
		}
		version = o.Value.Version
		return o.Value.checkNewer()
	})
	return version, fresh, err
}

// checkNewer refuses records of a later form.
func (s *state) checkNewer() error {
	if s.Version > Version {
		return fmt.Errorf("%w: its records have version %d, and this program knows %d", storage.ErrNewer, s.Version, Version)
	}
	return nil
}

// step begins the passes, or takes them one page on. fresh says that the store had no records.
func step(ctx context.Context, store storage.Store, kinds []*storage.Kind, fresh bool) (done bool, err error) {
	err = store.Update(ctx, func(tx storage.Tx) error {
		done = false
		o, err := states.GetOrNew(tx, storage.Scope{}, stateID)
		if err != nil {
			return err
		}
		s := &o.Value
		if done = s.Version == Version; done {
			return nil
		}
		if err := s.checkNewer(); err != nil {
			return err
		}
		if o.Version == 0 {
			err = s.begin(tx, kinds, fresh)
		} else {
			err = s.advance(tx, kinds)
		}
		if err != nil {
			return err
		}
		done = s.Version == Version
		return states.Put(tx, o)
	})
	return done, err
}

// empty reports whether a store has no records of any kind.
func empty(tx storage.ReadTx, kinds []*storage.Kind) (bool, error) {
	for _, k := range kinds {
		found, err := tx.Scan(k, storage.Scope{}, "", 1)
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}

// begin notes the version of a store without records. For any other it checks that the passes can begin.
func (s *state) begin(tx storage.Tx, kinds []*storage.Kind, fresh bool) error {
	if !fresh {
		return endRebuilds(tx, kinds)
	}
	if still, err := empty(tx, kinds); err != nil {
		return err
	} else if !still {
		return fmt.Errorf("%w: a program of an earlier version writes to the database", storage.ErrConflict)
	}
	s.Version = Version
	return nil
}

// advance changes the next page of records, and moves the place.
func (s *state) advance(tx storage.Tx, kinds []*storage.Kind) error {
	next := passes[s.Version]
	if s.Kind == "" {
		s.Kind = next[0].kind
	}
	at := slices.IndexFunc(next, func(p pass) bool { return p.kind == s.Kind })
	if at < 0 {
		return fmt.Errorf("the pass stopped at an unknown kind %q", s.Kind)
	}
	k, err := kindOf(slices.Concat(kinds, formerOf(s.Version)), s.Kind)
	if err != nil {
		return err
	}
	records, err := tx.Scan(k, s.Scope, s.ID, page)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := next[at].upgrade(k, &record{r, tx, kinds}); err != nil {
			return fmt.Errorf("%s %s: %w", k.Name, r.ID, err)
		}
		s.Scope, s.ID = r.Scope, r.ID
	}
	switch {
	case len(records) == page:
	case at+1 < len(next):
		*s = state{Version: s.Version, Kind: next[at+1].kind}
	default:
		*s = state{Version: s.Version + 1}
	}
	return nil
}

func kindOf(kinds []*storage.Kind, name string) (*storage.Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%w: no kind %q", storage.ErrInvalid, name)
}

// upgrade changes one record, and writes it if it was of the earlier form.
func (p *pass) upgrade(k *storage.Kind, of *record) error {
	doc, err := parse(of.Data)
	if err != nil {
		return err
	}
	for _, change := range p.changes {
		if err := change(of, doc); err != nil {
			return err
		}
	}
	if doc.changed {
		doc.remove(stamp)
		if of.Data, err = doc.encode(); err != nil {
			return err
		}
	}
	switch {
	case doc.gone:
		return of.tx.Delete(k, of.Scope, of.ID, of.Version)
	case p.to != "":
		return p.move(k, of)
	case !doc.changed:
		return nil
	}
	if of.Columns, err = k.Backfill(of.Data); err != nil {
		return err
	}
	return of.tx.Replace(k, of.Record)
}

// move moves a record into the pass's other kind.
func (p *pass) move(from *storage.Kind, of *record) error {
	to, err := kindOf(of.kinds, p.to)
	if err != nil {
		return err
	}
	if of.Columns, err = to.Backfill(of.Data); err != nil {
		return err
	}
	if err := of.tx.Delete(from, of.Scope, of.ID, of.Version); err != nil {
		return err
	}
	return of.tx.Insert(to, of.Record)
}

// stamp is the member by which a document says which program encoded it. It does not fit an edited
// document.
const stamp = "_"
