package httpapi

import (
	"net/http"
	"time"
)

// The limits of a server, each with its reason.
const (
	// readHeaderTimeout: the headers of a call fit one packet; who needs ten
	// seconds for them is holding the connection.
	readHeaderTimeout = 10 * time.Second
	// readTimeout covers headers and body: the ten seconds above, and the thirty
	// of a request, after which its body would come too late. The request's
	// context ends with it, so it must not be shorter.
	readTimeout = readHeaderTimeout + defaultTimeout
	// writeTimeout runs from the end of the headers: the thirty seconds of the
	// request, and as long again for a slow phone to take a page.
	writeTimeout = 2 * defaultTimeout
	// idleTimeout is above the 60 seconds after which the usual proxies close
	// their side, so that they, who know, close first.
	idleTimeout = 120 * time.Second
	// maxHeaderBytes leaves room for the cookies of a host on the same domain; a
	// call of this API needs less than 1 KiB.
	maxHeaderBytes = 32 << 10
)

// NewServer returns a server for h on addr with limits. It allows 10 seconds to read the headers, 40
// seconds to read the request, and 60 seconds from the headers to the end of the answer. It allows 120
// seconds for an idle connection, and 32 KiB of headers. If you raise [Config].Timeout, raise
// ReadTimeout and WriteTimeout too.
func NewServer(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
}
