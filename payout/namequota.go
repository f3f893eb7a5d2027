package payout

// NameQuota is the number of account names that a merchant may look up in each mode. It keeps a
// merchant from collecting the names of all numbers. Zero stands for the default of
// [DefaultNameQuota]; a negative number turns a limit off. Hours and days are those of UTC,
// Ghana's time.
type NameQuota struct{ Hour, Day int }

// DefaultNameQuota is the quota when the host sets nothing.
var DefaultNameQuota = NameQuota{Hour: 100, Day: 500}
