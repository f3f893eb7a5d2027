package orders

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
)

// script is a provider that answers as written, and records how it was called.
type script struct {
	submit, status providerFunc
	asked          string
}

func (s *script) call(first bool) *Call {
	return &Call{
		first: first,
		submit: func(ctx context.Context) (provider.Result, error) {
			s.asked += "+"
			return s.submit(ctx)
		},
		status: func(ctx context.Context) (provider.Result, error) {
			s.asked += "?"
			return s.status(ctx)
		},
	}
}

func TestOrderIsSubmittedOnce(t *testing.T) {
	says := func(o provider.Outcome) providerFunc {
		return func(context.Context) (provider.Result, error) { return provider.Result{Outcome: o}, nil }
	}
	lost := func(context.Context) (provider.Result, error) {
		return provider.Result{Outcome: provider.Paid}, errors.New("a broken connection")
	}
	panics := func(context.Context) (provider.Result, error) { panic("0241234567") }
	for name, test := range map[string]struct {
		first          bool
		submit, status providerFunc
		asked          string
		answer         provider.Outcome // no outcome stands for no answer
	}{
		"first":                        {true, says("paid"), panics, "+", "paid"},
		"first and lost":               {true, lost, panics, "+", ""},
		"first and not found":          {true, says("not_found"), panics, "+", ""},
		"first and no answer":          {true, says("perhaps"), panics, "+", ""},
		"first and a panic":            {true, panics, panics, "+", ""},
		"again":                        {false, panics, says("refused"), "?", "refused"},
		"again and undecided":          {false, panics, says("in_progress"), "?", "in_progress"},
		"again and lost":               {false, panics, lost, "?", ""},
		"again and no answer":          {false, panics, says(""), "?", ""},
		"again and a panic":            {false, says("paid"), panics, "?", ""},
		"again and never seen":         {false, says("paid"), says("not_found"), "?+", "paid"},
		"again, never seen, then lost": {false, lost, says("not_found"), "?+", ""},
	} {
		s := &script{submit: test.submit, status: test.status}
		answer, err := s.call(test.first).submitOrPoll(t.Context())
		if answer.Outcome != test.answer || (err == nil) != (test.answer != "") || s.asked != test.asked {
			t.Errorf("%s: asked %s, got %q, %v", name, s.asked, answer.Outcome, err)
		}
	}
	// What a host's code panics with may be a number, and the error leaves it out.
	if _, err := (&script{submit: panics}).call(true).submitOrPoll(t.Context()); !errors.Is(err, work.ErrPanicked) {
		t.Errorf("a panic is %v", err)
	}
}

func TestTruncateKeepsCharacters(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aɛ", 2, "a"}, {"ɛɛ", 3, "ɛ"}, {"ɛ", 1, ""}, {"₵₵", 5, "₵"}, {"a\xff", 4, "a\uFFFD"}, {"a\xff", 3, "a"},
	} {
		expect.Equal(t, Truncate(test.text, test.most), test.want, "%q to %d", test.text, test.most)
	}
}

// A repetition is known by its cause, whether the contradiction is noted or resolved.
func TestContradictionIsKnownByItsCause(t *testing.T) {
	noted := Cause{Recorded: "completed", Reported: provider.Refused}
	resolved := Cause{Problem: otherAmount, Amount: 5}
	e := Entry{Cause: &noted, ResolvedCause: &resolved}
	for _, known := range []Cause{noted, resolved} {
		expect.True(t, e.knows(known), "%+v is not known", known)
		expect.True(t, !new(Entry).knows(known), "an entry without a contradiction knows %+v", known)
	}
	for _, other := range []Cause{
		{},
		{Recorded: "failed", Reported: provider.Refused},
		{Recorded: "completed", Reported: provider.Reversed},
		{Recorded: "completed", Reported: provider.Refused, Amount: 5},
		{Problem: otherAmount},
		{Problem: RefundFailed},
	} {
		expect.True(t, !e.knows(other), "%+v is known", other)
	}
}
