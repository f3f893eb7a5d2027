package inspector

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A stream ends after streamLife; the browser opens the next. patience is how long
// one write may take.
const (
	streamLife = 10 * time.Minute
	patience   = 10 * time.Second
)

// dataLines makes lines of an event's data; a carriage return would end one, too.
var dataLines = strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ")

// stream sends what is live on a page whenever it has changed, as server-sent
// events whose id is the version. Whatever changes it is seen, in this process or
// another, because the page itself is built again and compared.
func (v *visit) stream(w http.ResponseWriter, build func(*visit) (*page, error)) error {
	leave, err := v.in.streams.take(v.caller.Merchant)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(v.Context(), streamLife)
	defer cancel()
	whole := v.Request
	defer func() { v.Request = whole }() // a refusal is shown beyond the stream's time
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
	_ = control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprint(w, "retry: 2000\n\n"); err != nil {
		return nil // nobody reads
	}
	last := v.Header.Get("Last-Event-ID")
	look := time.NewTicker(v.in.look)
	defer look.Stop()
	for {
		html, version, err := v.live(p)
		if err != nil {
			return nil // the head is out; the page itself shows the fault
		}
		if version != last {
			last = version
			_ = control.SetWriteDeadline(time.Now().Add(patience))
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
		// A page that is gone ends the stream; the browser asks again and is told.
		if p, err = build(v); err != nil {
			return nil
		}
	}
}
