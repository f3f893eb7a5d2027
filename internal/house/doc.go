// Package house tests what a reader of the packages relies on: what they export, how long their go doc
// is, how its sentences read, and which of them import which. It has tests only.
//
// testdata/*.txt list what still breaks each rule. A test fails on a new breach, and on a
// line that no longer names one: delete such lines with
//
//	go test ./internal/house -shrink
package house
