package memory

import "github.com/seed-7082ffec/payments/storage"

// Scan implements [storage.ReadTx].
func (t *tx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return nil, err
	}
	var all []storage.Record
	from := recordKey(after, id)
	table.records.Ascend(from, func(key string, r *row) bool {
		if key != from {
			all = append(all, copyRecord(r.Record))
		}
		return len(all) < limit
	})
	return all, nil
}

// Sequences implements [storage.ReadTx].
func (t *tx) Sequences(after string, limit int) ([]storage.Sequence, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	var all []storage.Sequence
	t.state.sequences.Ascend(after, func(name string, value int64) bool {
		if name != after {
			all = append(all, storage.Sequence{Name: name, Value: value})
		}
		return len(all) < limit
	})
	return all, nil
}

// SetSequence implements [storage.Tx].
func (t *tx) SetSequence(name string, value int64) error {
	if err := t.usable(); err != nil {
		return err
	}
	t.state.sequences.Set(name, value)
	return nil
}
