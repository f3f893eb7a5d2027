package account

// Verification is the result of replaying the ledger.
type Verification struct {
	Accounts, Postings, Entries int64
	// Sealed is the number of entries that agree with their seals; see [Audits.Seal].
	Sealed int64
	// Overdue is the number of entries without a seal for longer than [SealWithin] and a minute,
	// which allows for clock skew. Together they are one problem: the background work has
	// stopped, is too slow, or refuses to seal changed entries.
	Overdue int64
	// Problems describes the first 100 disagreements in words; empty if there is none.
	Problems []string
}
