package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// noAnswer is the status of an exchange that got none.
const noAnswer = -1

// exchange is a call and its answer. The body may hold personal data, so it is looked at and never
// printed.
type exchange struct {
	path   string
	status int
	body   string // in lower case
}

// witness is an http.RoundTripper that remembers the exchanges of a step, because an error of an
// adapter does not tell all that a person needs to know.
type witness struct {
	transport http.RoundTripper
	mu        sync.Mutex
	all       []exchange
}

func newWitness() *witness {
	return &witness{transport: http.DefaultTransport.(*http.Transport).Clone()}
}

// maxBody is how much of an answer is remembered. Longer ones are lists of banks.
const maxBody = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchange{path: r.URL.Path, status: noAnswer}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, x)
	}()
	response, err := w.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	x.status, x.body = response.StatusCode, strings.ToLower(string(head))
	if err != nil {
		response.Body.Close()
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
	return response, nil
}

func (w *witness) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = nil
}

func (w *witness) exchanges() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[:len(w.all):len(w.all)]
}

// failure is a failure that a provider is known for.
type failure struct {
	// status is that of the answer: 0 for any, 5 for 500 to 599, and noAnswer.
	status int
	// path is a part of the address, and word a pattern of the answer in lower case; empty for any.
	// unless is a part of the answer that excludes this failure.
	path, word, unless string
	// says what is wrong, and what to do.
	says string
	// waits says that a transfer waits for the operator, and does not end in the time of a check.
	waits bool
}

func (f failure) matches(x exchange) bool {
	return (f.status == 0 || f.status == x.status || f.status == x.status/100) &&
		strings.Contains(x.path, f.path) && regexp.MustCompile(f.word).MatchString(x.body) &&
		(f.unless == "" || !strings.Contains(x.body, f.unless))
}

// explain returns the first failure that an exchange shows, or nil.
func explain(known []failure, seen []exchange) *failure {
	for _, f := range known {
		for _, x := range seen {
			if f.matches(x) {
				return &f
			}
		}
	}
	return nil
}

// refuses reports whether the failure is the provider's refusal of a call. After trouble on the way, the
// provider may have carried it out.
func (f *failure) refuses() bool { return f.status != 5 && f.status != noAnswer }
