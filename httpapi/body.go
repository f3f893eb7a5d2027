package httpapi

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// maxBody is the longest body that is read, 256 KiB: an invoice with some
// thousand lines.
const maxBody = 256 << 10

// readBody reads the whole body, which must be JSON by its headers unless it is
// empty, and at most as long as the route takes, however it is sent. It is in the
// request's buffer, until that is used for something else.
func (r *request) readBody() ([]byte, error) {
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	limit := int64(maxBody)
	if r.route != nil && r.route.maxBody > 0 {
		limit = r.route.maxBody
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	into := r.buffer()
	stop := interruptRead(r.Context(), r.writer)
	_, err := into.ReadFrom(http.MaxBytesReader(r.writer, r.Body, limit))
	stop()
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return nil, tooLarge(limit)
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil && isTimeout(err):
		return nil, context.DeadlineExceeded // the server's own, which came first
	case err != nil:
		return nil, api.Errorf(api.InvalidJSON, "", "The body could not be read to its end.").WithCause(err)
	case into.Len() == 0:
		return nil, nil
	}
	return into.Bytes(), checkContentType(r.Header)
}

func tooLarge(limit int64) error {
	return api.Errorf(api.BodyTooLarge, "", "The body is longer than %d bytes.", limit)
}

// interruptRead ends reading of the body when ctx ends. Otherwise a client that sends slowly, or
// nothing, would hold the request. The server's own deadline
// stays where it is when it is earlier. A ResponseWriter of the host's that
// cannot set deadlines (see http.ResponseController) leaves it to that one.
func interruptRead(ctx context.Context, w http.ResponseWriter) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}

// limitUnreadBody bounds how long a page waits for the rest of the body: the server reads what
// the handler left unread before it sends the answer.
func (r *request) limitUnreadBody() (stop func()) {
	if r.needsAPIKey || r.ContentLength == 0 {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	stopCut := interruptRead(ctx, r.writer)
	return func() {
		stopCut()
		cancel()
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

var errNotJSON = api.Errorf(api.UnsupportedMediaType, "", "Send the body with Content-Type: application/json, in UTF-8.")

// checkContentType refuses a body whose headers do not say plain JSON.
func checkContentType(h http.Header) error {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return errNotJSON
	}
	if types[0] != "application/json" { // as nearly all send it
		mediaType, params, err := mime.ParseMediaType(types[0])
		if err != nil || mediaType != "application/json" {
			return errNotJSON
		}
		if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
			return errNotJSON
		}
	}
	for _, encoding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(encoding, "identity") {
			return api.Errorf(api.UnsupportedMediaType, "", "Send the body as it is, without a Content-Encoding.")
		}
	}
	return nil
}
