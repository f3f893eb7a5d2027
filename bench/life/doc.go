// Package life measures whole lives: of a transfer, from its first request to its last
// outcome and event, of a payment from a
// phone, of a QR payment, of a batch and of an invoice. It has benchmarks, and tests of what they measure with.
//
// Each benchmark measures its yardsticks in the same run. The bare loop writes the same rows
// without any logic (package benchbase). The thin server does the least that a payment server
// must do for a request, in one commit (thin_test.go).
//
//	go test -C bench ./life -run '^$' -bench 'Transfer/store=sqlite' -benchtime 4000x
package life
