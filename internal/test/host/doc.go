// Package host tests what a host does around the whole service: its own transactions, a change of its server
// keys, its directory of customers that fails, and a database that is restored.
package host
