// Package simulation plays random weeks of two merchants on one seed, with every fault
// injected, and compares the service with what is known after each step. It has tests only.
//
// A new kind of step, or a new comparison, stands here. A single call under a fault stands
// in internal/test/faults. Package testkit says where every other test goes.
//
//	go test ./internal/test/simulation -run TestSimulation -seeds 10000
//	go test ./internal/test/simulation -run TestSimulation -seed 4711 -seeds 1
package simulation
