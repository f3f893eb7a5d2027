// Package api holds the conventions that every noun of the interface shares:
// who calls ([Caller]), what a refusal looks like ([Error], [Code]), how lists
// are paged ([Page], [List]), and the types whose JSON is the same everywhere
// ([Time], [GHS], [Metadata]).
//
// It knows no noun and no HTTP: package httpapi maps errors to statuses.
package api
