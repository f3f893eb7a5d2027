// Package api holds what every resource of the API shares: the caller ([Caller]), errors ([Error],
// [Code]), paging ([Page], [List]) and common JSON types ([Time], [GHS], [Metadata]).
//
// It knows no resource and no HTTP. Package httpapi maps errors to HTTP statuses.
package api
