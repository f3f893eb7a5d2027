package upgrade

import "github.com/seed-7082ffec/payments/storage"

// Page is how many records one transaction changes.
const Page = page

// ErrOlder is the error of a database whose last program has work to do first.
var ErrOlder = errOlder

// PassOver makes renaming a member of one kind the only pass to Version 1, until the test calls restore.
func PassOver(kind, from, to string) (restore func()) {
	before := passes
	passes[0] = []pass{{kind: kind, changes: []change{rename("", from, to)}}}
	return func() { passes = before }
}

// SetVersion writes a version, and VersionOf reads it.
func SetVersion(tx storage.Tx, version int) error {
	o, err := states.GetOrNew(tx, storage.Scope{}, stateID)
	if err != nil {
		return err
	}
	o.Value = state{Version: version}
	return states.Put(tx, o)
}

// VersionOf returns the version of a store; 0 before all records have Version 1.
func VersionOf(tx storage.ReadTx) (int, error) {
	o, err := states.GetOrNew(tx, storage.Scope{}, stateID)
	if err != nil {
		return 0, err
	}
	return o.Value.Version, nil
}
