package inspector

import "time"

// What pages are made of, for the package's tests.
var (
	Missing = missing
	Count   = count
)

// PageTime sets how long a page may take, until the returned function is called.
func PageTime(d time.Duration) (reset func()) {
	was := pageTimeout
	pageTimeout = d
	return func() { pageTimeout = was }
}

// ExportAtMost bounds the rows of an export, until the returned function is called.
func ExportAtMost(n int) (reset func()) {
	was := maxExported
	maxExported = n
	return func() { maxExported = was }
}

// LookEvery sets how often open pages look for changes.
func (in *Inspector) LookEvery(d time.Duration) { in.pollInterval = d }
