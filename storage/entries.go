package storage

import "slices"

// EntriesReader is an optional interface of a ReadTx, for stores that wait for a network at each
// call. It reads the entries of many accounts at once.
type EntriesReader interface {
	// FirstEntries returns the entries of the accounts with numbers up to upTo, by ascending
	// account name and number.
	FirstEntries(accounts []string, upTo int64) ([]Entry, error)
}

// FirstEntries works as [EntriesReader] does, with any ReadTx.
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
