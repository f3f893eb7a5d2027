package inspector

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// The limits on concurrent live updates. Each rebuilds its page repeatedly.
const maxStreams, maxMerchantStreams = 64, 16

var errManyStreams = api.Errorf(api.RateLimited, "", "Too many pages are open with live updates. Close some; this one can be loaded again.")

// streamLimiter counts the open streams of live updates.
type streamLimiter struct {
	mu   sync.Mutex
	open map[string]int // by merchant, and all under ""
}

// acquire counts a stream until the caller calls release.
func (l *streamLimiter) acquire(merchant string) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[""] >= maxStreams || l.open[merchant] >= maxMerchantStreams {
		return nil, errManyStreams
	}
	if l.open == nil {
		l.open = map[string]int{}
	}
	l.open[""]++
	l.open[merchant]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[""]--
		if l.open[merchant]--; l.open[merchant] == 0 {
			delete(l.open, merchant)
		}
	}, nil
}

// A stream ends after streamLife; the browser opens the next. writeTimeout bounds one
// write.
const (
	streamLife   = 10 * time.Minute
	writeTimeout = 10 * time.Second
)

// dataLines prefixes each line of an event's data. A carriage return ends a line, too.
var dataLines = strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ")

// stream sends the live part of a page whenever it has changed, as server-sent events
// whose id is the version. It rebuilds the page and compares it, so it sees changes by
// other processes, too.
func (v *visit) stream(w http.ResponseWriter, build func(*visit) (*page, error)) error {
	release, err := v.in.streams.acquire(v.caller.Merchant)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(v.Context(), streamLife)
	defer cancel()
	whole := v.Request
	defer func() { v.Request = whole }() // an error page may take longer than the stream
	v.Request = v.WithContext(ctx)
	p, err := build(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not collect events
	h.Add("Vary", "Accept")
	control := http.NewResponseController(w)
	// The server's limits are for requests that end. Not every writer can lift them;
	// the stream is then cut and opened again.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprint(w, "retry: 2000\n\n"); err != nil {
		return nil // the client has gone
	}
	last := v.Header.Get("Last-Event-ID")
	look := time.NewTicker(v.in.pollInterval)
	defer look.Stop()
	for {
		html, version, err := v.live(p)
		if err != nil {
			return nil // the head is out; the page itself shows the fault
		}
		if version != last {
			last = version
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := fmt.Fprintf(w, "id: %s\ndata: %s\n\n", version, dataLines.Replace(string(html))); err != nil {
				return nil
			}
		}
		if err := control.Flush(); err != nil {
			return nil
		}
		select {
		case <-v.Context().Done():
			return nil
		case <-v.in.closing:
			return nil
		case <-look.C:
		}
		// End the stream when its page fails or is no longer for this request; the browser reconnects and
		// gets the error.
		if !v.in.allows(v.Request, v.caller.Merchant) {
			return nil
		}
		if p, err = build(v); err != nil {
			return nil
		}
	}
}
