package faults_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
)

// contents is all that a store holds of the merchant and the server, by kind.
type contents map[string]map[string]string

// contents returns what the store holds. It reads only the kinds of which an update has
// written records since the last call, also if the update failed. With the full effort every
// tenth call reads all kinds.
func (s *subject) contents(t *testing.T) contents {
	t.Helper()
	written := s.store.Written()
	s.reads++
	switch {
	case s.last == nil || effort.Full() && s.reads%10 == 0:
		s.last = testkit.ContentsByKind(t, s.whole, s.caller.Merchant, nil)
	case len(written) > 0:
		s.last = maps.Clone(s.last)
		maps.Copy(s.last, testkit.ContentsByKind(t, s.whole, s.caller.Merchant, written))
	}
	return s.last
}

// without leaves kinds out.
func (c contents) without(kinds ...string) contents {
	rest := maps.Clone(c)
	for _, k := range kinds {
		delete(rest, k)
	}
	return rest
}

// difference shows how the contents differ; "" if they do not.
func difference(before, after contents) string {
	was, is := contents{}, contents{}
	for kind, part := range after {
		if !maps.Equal(before[kind], part) {
			was[kind], is[kind] = before[kind], part
		}
	}
	return cmp.Diff(was, is)
}

// shape counts, by kind, what is new or changed between two contents.
func shape(before, after contents) map[string]int {
	counts := map[string]int{}
	count := func(what, key string) {
		kind, _, _ := strings.Cut(key, " ")
		if strings.HasPrefix(kind, "txn_") {
			kind = "posting"
		}
		counts[what+" "+kind]++
	}
	for kind, now := range after.without("payout_days") { // midnight may pass
		was := before[kind]
		if maps.Equal(was, now) {
			continue
		}
		for key, value := range now {
			if old, ok := was[key]; !ok && kind != "daily_totals" { // the first total after midnight is a change
				count("new", key)
			} else if old != value {
				count("changed", key)
			}
		}
		for key := range was {
			if _, ok := now[key]; !ok {
				count("gone", key)
			}
		}
	}
	return counts
}
