// Package smstest is what the fakes of SMS gateways share. A [Fake] is an [http.Handler] that keeps the
// messages that it took, and loses requests and answers as it is told. Packages arkeseltest and
// hubteltest make one that speaks their gateway's language.
package smstest

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// BadNumber is the end of a number that a Fake finds invalid.
const BadNumber = "06"

// Message is one SMS that a Fake took. To has the form 233XXXXXXXXX.
type Message struct{ Sender, To, Text string }

// Verdict is what becomes of a request.
type Verdict int

// The verdicts.
const (
	Taken      Verdict = iota // the message is on its way
	Invalid                   // the request has another form than documented
	BadKey                    // the key is not the right one
	NoCredit                  // the account has too little credit
	NotANumber                // the number ends in BadNumber
	Sandboxed                 // the request asks that nothing is sent
)

// Language is how a gateway speaks.
type Language struct {
	// Read returns the message of a request, and Taken, Sandboxed, Invalid or BadKey.
	Read func(r *http.Request, body []byte) (Message, Verdict)
	// Write returns the answer: a status and what is sent as JSON. n counts the messages taken.
	Write func(m Message, v Verdict, n int) (status int, body any)
}

// Faults says what goes wrong, in percent of the calls.
type Faults struct {
	// LoseRequest cuts the connection before the request is seen, LoseAnswer after the message was
	// taken. FailBefore and FailAfter answer 503 and 500 instead.
	LoseRequest, LoseAnswer, FailBefore, FailAfter int
	// Limit answers 429.
	Limit int
}

// fate is what happens to a call.
type fate int

const (
	serve fate = iota
	loseRequest
	loseAnswer
	failBefore
	failAfter
	limit
)

// Fake is an SMS gateway for tests. It is safe for concurrent use.
type Fake struct {
	language Language
	mu       sync.Mutex
	dice     *rand.Rand
	faults   Faults
	next     []fate
	credit   int
	taken    []Message
	problems int
}

// New returns a fake with credit for a million messages and without faults. The same seed and the
// same order of calls give the same behaviour.
func New(seed uint64, l Language) *Fake {
	return &Fake{language: l, dice: rand.New(rand.NewPCG(seed, seed)), credit: 1_000_000}
}

// SetFaults sets what goes wrong from now on.
func (f *Fake) SetFaults(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// SetCredit sets for how many messages the account can pay.
func (f *Fake) SetCredit(messages int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.credit = messages
}

// LoseRequest cuts the connection of the next call before the fake sees it.
func (f *Fake) LoseRequest() { f.queue(loseRequest) }

// LoseAnswer cuts the connection of the next call after the fake took the message.
func (f *Fake) LoseAnswer() { f.queue(loseAnswer) }

func (f *Fake) queue(what fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, what)
}

// Messages returns the messages that the fake took, the oldest first. A message whose answer got
// lost is there once more when it was sent again: gateways know no key that prevents it.
func (f *Fake) Messages() []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.taken)
}

// Invalid returns how many requests did not have the documented form.
func (f *Fake) Invalid() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problems
}

// ServeHTTP implements [http.Handler].
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	what, status, answer := f.handle(r, body)
	if what == loseRequest || what == loseAnswer {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *Fake) handle(r *http.Request, body []byte) (what fate, status int, answer any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := map[string]string{"message": "Try again later."}
	switch what = f.fate(); what {
	case loseRequest:
		return what, 0, nil
	case failBefore:
		return what, http.StatusServiceUnavailable, failed
	case limit:
		return what, http.StatusTooManyRequests, failed
	}
	m, verdict := f.language.Read(r, body)
	switch {
	case verdict == Invalid:
		f.problems++
	case verdict != Taken && verdict != Sandboxed:
	case verdict == Taken && f.credit < 1:
		verdict = NoCredit
	case strings.HasSuffix(m.To, BadNumber):
		verdict = NotANumber
	case verdict == Taken:
		f.credit--
		f.taken = append(f.taken, m)
	}
	if what == failAfter {
		return what, http.StatusInternalServerError, failed
	}
	status, answer = f.language.Write(m, verdict, len(f.taken))
	return what, status, answer
}

func (f *Fake) fate() fate {
	if len(f.next) > 0 {
		what := f.next[0]
		f.next = f.next[1:]
		return what
	}
	percents := []int{
		loseRequest: f.faults.LoseRequest, loseAnswer: f.faults.LoseAnswer,
		failBefore: f.faults.FailBefore, failAfter: f.faults.FailAfter, limit: f.faults.Limit,
	}
	for what, percent := range percents {
		if percent > 0 && f.dice.IntN(100) < percent {
			return fate(what)
		}
	}
	return serve
}
