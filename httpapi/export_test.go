package httpapi

import (
	"net/http"

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
