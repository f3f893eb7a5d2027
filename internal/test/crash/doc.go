// Package crash kills real servers at random, under the load of clients, and checks that
// all they acknowledged is there. It has tests only.
//
// A test that kills processes stands here. One that kills a database stands in
// storage/postgres.
//
//	go test ./internal/test/crash -run TestCrashes -kills 300 -timeout 60m
package crash
