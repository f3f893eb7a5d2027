package account

import "time"

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

// SealWithin is the time after its booking within which an entry gets a seal, as long as the
// background work runs. [Audits.Verify] reports entries that have waited longer.
//
// A seal is an HMAC, under payments.Config.Key, of some entries of an account and of the seal before.
// A person who can write to the database, but does not have the key, cannot change or remove sealed
// entries without Verify finding it.
const SealWithin = 10 * time.Minute
