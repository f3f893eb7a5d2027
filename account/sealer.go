package account

import "time"

// SealWithin is the time after its booking within which an entry gets a seal, as long as the
// background work runs. [Audits.Verify] reports entries that have waited longer.
//
// A seal is an HMAC, under payments.Config.Key, of some entries of an account and of the seal before.
// A person who can write to the database, but does not have the key, cannot change or remove sealed
// entries without Verify finding it.
const SealWithin = 10 * time.Minute
