package httpapi

import (
	"net/http"
	"sync"
	"time"
)

// lateAfter is how long a handler has for its answer after its context has ended.
const lateAfter = time.Second

// lateAnswer answers in the place of a handler that outlasts its request's time. A
// store awaits the outcome of a commit though the context has ended, so that its error
// means that nothing was written; the client need not.
type lateAnswer struct {
	timer *time.Timer

	mu   sync.Mutex
	done bool // one side has answered, or is about to
}

// answerLate sets the time after which the request is answered in any case.
func (rt *router) answerLate(w http.ResponseWriter, hr *http.Request, id string) *lateAnswer {
	l := &lateAnswer{}
	l.timer = time.AfterFunc(rt.config.timeout()+lateAfter, func() {
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
		answer := refusalBody(r, http.StatusServiceUnavailable, errTimeout)
		// The next request on the connection would wait for this handler.
		answer.set("Connection", "close")
		answer.write(w, r)
		r.release()
		_ = http.NewResponseController(w).Flush() // a writer without it sends the answer when the handler is done
	})
	return l
}

// prevent reports whether the handler's answer is to be written. It waits for a late
// answer that is being written.
func (l *lateAnswer) prevent() bool {
	l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return false
	}
	l.done = true
	return true
}
