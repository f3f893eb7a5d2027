package account

import "github.com/seed-7082ffec/payments/api"

// ListEntriesParams selects changes of the balance; zero values select all.
type ListEntriesParams struct {
	api.Page
	// Created limits the list to a period. Each entry is in exactly one of several adjoining
	// periods. See [Statements.Statement].
	Created api.Times `param:"created"`
	// Type and Source select the entries that have them; see [Entry]. The service compares entry by
	// entry, so a period makes the search for rare entries faster.
	Type   string `param:"type"`
	Source string `param:"source"`
}
