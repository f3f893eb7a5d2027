// Package faults makes every call of the service while something goes wrong: an operation
// of the store fails, an answer is lost, the caller goes away, a repetition races, a rail
// forgets, a value is hostile. It has tests only.
//
// A new method of a service gets a line in calls_test.go; then every test here makes it,
// and the workers do what it leaves.
// A fault of one noun's own stands in that noun's package.
//
//	go test ./internal/test/faults
package faults
