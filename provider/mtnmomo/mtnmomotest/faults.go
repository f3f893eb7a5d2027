package mtnmomotest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// Faults are how often each fault happens, in percent.
type Faults struct {
	// LostRequest loses a request before the fake has seen it, LostAnswer the answer after it has
	// done everything. The caller gets a cut connection, a 5xx or an HTML page instead of the
	// answer. The 5xx often has a reason word that would be final in a normal answer.
	LostRequest, LostAnswer int
	// Doubled delivers a request twice, and answers the second.
	Doubled int
	// Late leaves a new order pending for 1 to 4 status queries.
	Late int
	// Hidden answers the first 1 to 3 status queries of a new order with 404.
	Hidden int
	// TooMany answers 429.
	TooMany int
	// BadToken answers 401, and drops all tokens.
	BadToken int
	// NoCallback loses a callback, and TwoCallbacks sends it twice. EarlyCallback sends a callback
	// before the answer to the submission. ForgedCallback adds one that lies about the order, and one
	// about an order that does not exist.
	NoCallback, TwoCallbacks, EarlyCallback, ForgedCallback int
}

// SetFaults sets the faults. A new fake has none.
func (f *Fake) SetFaults(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

func (f *Fake) chance(percent int) bool { return percent > 0 && f.dice.IntN(100) < percent }

// LoseRequest cuts the connection of the next call before the fake has seen it. Calls for tokens
// do not count.
func (f *Fake) LoseRequest() { f.setLose("request") }

// LoseAnswer cuts the connection of the next call after the fake has done everything. Calls for
// tokens do not count.
func (f *Fake) LoseAnswer() { f.setLose("answer") }

func (f *Fake) setLose(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = what
}

// AnswerNext answers the next call, other than for a token, with a status and a body, and does
// nothing else. Repeated calls queue the answers.
func (f *Fake) AnswerNext(status int, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// ExpireTokens drops all tokens.
func (f *Fake) ExpireTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.tokens)
}

// lost answers for a call whose request or answer got lost.
func (f *Fake) lost() func(http.ResponseWriter) {
	words := []string{"NOT_ENOUGH_FUNDS", "PAYEE_NOT_FOUND", "APPROVAL_REJECTED", "INTERNAL_PROCESSING_ERROR"}
	word := words[f.dice.IntN(len(words))]
	switch f.dice.IntN(4) {
	case 0:
		return func(w http.ResponseWriter) { fail(w, http.StatusInternalServerError, word) }
	case 1:
		return func(w http.ResponseWriter) { fail(w, http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE") }
	case 2:
		return func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = io.WriteString(w, "<html>Gateway Timeout</html>")
		}
	}
	return cut
}

func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// Callback is a callback of the fake's.
type Callback struct{ Method, URL, Body string }

// SetReceiver sets where callbacks go: the handler at X-Callback-Url. Without it, they wait for
// Callbacks.
func (f *Fake) SetReceiver(h http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receiver = h
}

// Callbacks returns the callbacks that wait, and removes them.
func (f *Fake) Callbacks() []Callback {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.pending
	f.pending = nil
	return all
}

// Deliver delivers the callbacks that wait to the receiver. It returns the status of each answer. Without
// a receiver they go on waiting.
func (f *Fake) Deliver() (statuses []int) {
	f.mu.Lock()
	receiver := f.receiver
	f.mu.Unlock()
	if receiver == nil {
		return nil
	}
	for _, c := range f.Callbacks() {
		statuses = append(statuses, c.deliver(receiver))
	}
	return statuses
}

func (c Callback) deliver(to http.Handler) int {
	w := httptest.NewRecorder()
	to.ServeHTTP(w, httptest.NewRequest(c.Method, c.URL, strings.NewReader(c.Body)))
	return w.Code
}

// callBack queues the callbacks of an order that has ended.
func (f *Fake) callBack(o *order) {
	if o.callback == "" || f.chance(f.faults.NoCallback) {
		return
	}
	own := o.body()
	f.queue(o, own)
	if f.chance(f.faults.TwoCallbacks) {
		f.queue(o, own)
	}
	f.forge(o)
}

// forge may queue callbacks that lie.
func (f *Fake) forge(o *order) {
	if o.callback == "" || !f.chance(f.faults.ForgedCallback) {
		return
	}
	lie := o.body()
	lie.Status, lie.Reason, lie.Financial = "SUCCESSFUL", "", "666"
	if o.status == "SUCCESSFUL" {
		lie.Status, lie.Reason = "FAILED", "NOT_ENOUGH_FUNDS"
	}
	f.queue(o, lie)
	lie.ExternalID = lie.ExternalID[:max(0, len(lie.ExternalID)-4)] + "0000"
	f.queue(o, lie)
}

// queue queues a callback at any place among those that wait.
func (f *Fake) queue(o *order, s state) {
	body, _ := json.Marshal(s)
	method := []string{http.MethodPut, http.MethodPost}[f.dice.IntN(2)]
	f.pending = slices.Insert(f.pending, f.dice.IntN(len(f.pending)+1), Callback{method, o.callback, string(body)})
}

// Client returns a client whose calls reach the fake without a network.
func (f *Fake) Client() *http.Client { return &http.Client{Transport: transport{f}} }

type transport struct{ to http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			answer, err = nil, io.ErrUnexpectedEOF
		} else if v != nil {
			panic(v)
		}
	}()
	got := r.Clone(r.Context())
	if got.Body == nil {
		got.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.to.ServeHTTP(w, got)
	return w.Result(), nil
}
