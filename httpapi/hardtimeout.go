package httpapi

import (
	"net/http"
	"sync"
	"time"
)

// hardTimeoutGrace is how long a handler may run on after its context has ended.
const hardTimeoutGrace = time.Second

// hardTimeout answers a request whose handler runs on after its time. A store waits for the
// outcome of a commit even after the context has ended, so that its error means that
// nothing was written. The client does not have to wait.
type hardTimeout struct {
	timer *time.Timer

	mu   sync.Mutex
	done bool // the handler or the timer answers
}

func (rt *router) startHardTimeout(w http.ResponseWriter, hr *http.Request, id string) *hardTimeout {
	l := &hardTimeout{}
	l.timer = time.AfterFunc(rt.config.timeout()+hardTimeoutGrace, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.done {
			return
		}
		l.done = true
		// A request of its own: the handler still uses the other.
		r := &request{Request: hr, writer: w}
		r.caller.RequestID = id
		rt.log.WarnContext(hr.Context(), "request answered before its handler was done", "request_id", id)
		answer := rt.errorAnswer(r, http.StatusServiceUnavailable, errTimeout)
		// The next request on the connection would wait for this handler.
		answer.setHeader("Connection", "close")
		answer.write(w, r)
		r.release()
		_ = http.NewResponseController(w).Flush() // a writer without it sends the answer when the handler is done
	})
	return l
}

// stop stops the timer and reports whether the handler must answer. It waits while the
// timer's answer is being written.
func (l *hardTimeout) stop() bool {
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return false
	}
	l.done = true
	return true
}
