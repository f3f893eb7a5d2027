package orders

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/provider"
)

// callsKept is for how long failed calls are counted, in steps of callsStep.
const (
	callsKept = 5 * time.Minute
	callsStep = 10 * time.Second
)

// Calls are this process's calls of a live provider.
type Calls struct {
	// Route is the provider's name, as in [Account].
	Route string
	// LastSuccess is when a call was last answered; zero if none was. LastError is the class of the call
	// that failed last; empty if none did.
	LastSuccess time.Time
	LastError   provider.Class
	// Failures counts the failed calls of the last five minutes by class.
	Failures map[provider.Class]int
}

// callLog counts the calls of live providers. It is safe for concurrent use.
type callLog struct {
	mu     sync.Mutex
	routes map[string]*routeLog
}

type routeLog struct {
	lastSuccess time.Time
	lastError   provider.Class
	failures    []failures
}

// failures are those of a class within a step.
type failures struct {
	since time.Time
	class provider.Class
	n     int
}

// note counts a call.
func (l *callLog) note(route, class string, now time.Time) {
	failed := provider.Class(class)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.routes == nil {
		l.routes = map[string]*routeLog{}
	}
	is := l.routes[route]
	if is == nil {
		is = &routeLog{}
		l.routes[route] = is
	}
	if failed == "" {
		is.lastSuccess = now
		return
	}
	is.lastError = failed
	is.forget(now)
	step := now.Truncate(callsStep)
	at := slices.IndexFunc(is.failures, func(f failures) bool { return f.class == failed && f.since.Equal(step) })
	if at < 0 {
		at, is.failures = len(is.failures), append(is.failures, failures{since: step, class: failed})
	}
	is.failures[at].n++
}

// forget removes the failures that are counted no more.
func (l *routeLog) forget(now time.Time) {
	l.failures = slices.DeleteFunc(l.failures, func(f failures) bool { return now.Sub(f.since) >= callsKept })
}

// Calls returns this process's calls of live providers, by their names in order.
func (s *Service) Calls() []Calls {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	all := []Calls{}
	for _, route := range slices.SortedFunc(maps.Keys(s.calls.routes), cmp.Compare) {
		is := s.calls.routes[route]
		is.forget(s.engine.Clock())
		c := Calls{Route: route, LastSuccess: is.lastSuccess, LastError: is.lastError, Failures: map[provider.Class]int{}}
		for _, f := range is.failures {
			c.Failures[f.class] += f.n
		}
		all = append(all, c)
	}
	return all
}
