package storage

import "testing"

// RememberAccounts sets how many accounts a copy remembers, for one test.
func RememberAccounts(t *testing.T, n int) {
	was := copyAccounts
	copyAccounts = n
	t.Cleanup(func() { copyAccounts = was })
}
