// Package bench measures the library. It is a module of its own: `go test ./...` in the library
// neither builds nor runs what is here.
//
// Each benchmark prints a ratio to a limit that it measures in the same run. The page
// docs/performance.md has the aims, the results and the commands:
//
//	go test -C bench . -run '^$' -bench Create -benchtime 8000x
//
// The packages below it measure the API over HTTP, each database, and whole lives of payments and
// transfers.
package bench
