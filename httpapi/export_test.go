package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
)

// Routes lists the routes of a handler that New returned, as method and path.
func Routes(h http.Handler) (routes [][2]string) {
	for _, r := range h.(*router).routes {
		routes = append(routes, [2]string{r.method, r.pattern})
	}
	return routes
}

// StatusOf is the status with which a code is answered, when no parameter is
// named.
func StatusOf(c api.Code) int { return statusOf(api.Errorf(c, "", "")) }

// TableRow is a row of the table of routes, for tests that must hold for every
// route, those of next year included.
type TableRow struct {
	Method, Pattern string
	Write, Private  bool
	// Resource is what a key's permissions name.
	Resource string
}

// TableOf returns the routes of a handler that New made, in the order of their
// patterns.
func TableOf(h http.Handler) []TableRow {
	var rows []TableRow
	for _, row := range h.(*router).routes {
		rows = append(rows, TableRow{
			Method: row.method, Pattern: row.pattern, Write: row.write, Private: pathNeedsAPIKey(row.pattern), Resource: row.resource,
		})
	}
	slices.SortFunc(rows, func(a, b TableRow) int {
		// What deletes comes last, so that a test may walk the table in order.
		if a, b := a.Method == http.MethodDelete, b.Method == http.MethodDelete; a != b {
			if a {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Pattern+" "+a.Method, b.Pattern+" "+b.Method)
	})
	return rows
}
