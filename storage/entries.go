package storage

import "slices"

// EntriesReader is what a ReadTx can be, beside the contract, whose store waits for a
// network at each call: it reads of many accounts at once what [ReadTx.Entries] reads of
// one.
type EntriesReader interface {
	// FirstEntries returns the entries of some accounts with a number up to one, by
	// ascending name, those of an account by ascending number.
	FirstEntries(accounts []string, upTo int64) ([]Entry, error)
}

// FirstEntries is what [EntriesReader] says, of any ReadTx.
func FirstEntries(tx ReadTx, accounts []string, upTo int64) (map[string][]Entry, error) {
	found := make(map[string][]Entry, len(accounts))
	if many, ok := tx.(EntriesReader); ok {
		all, err := many.FirstEntries(accounts, upTo)
		for i := range all {
			found[all[i].Account] = append(found[all[i].Account], all[i])
		}
		return found, err
	}
	for _, account := range accounts {
		entries, err := tx.Entries(account, upTo+1, int(upTo))
		if err != nil {
			return nil, err
		}
		slices.Reverse(entries)
		found[account] = entries
	}
	return found, nil
}
