package storage

import "testing"

// RememberAccounts sets how many accounts a copy remembers, for one test.
func RememberAccounts(t *testing.T, n int) {
	was := maxCopyAccounts
	maxCopyAccounts = n
	t.Cleanup(func() { maxCopyAccounts = was })
}
