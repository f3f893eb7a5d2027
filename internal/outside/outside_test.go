package outside

import (
	"context"
	"errors"
	"testing"
	"time"
)

// script is a port that answers as written, and notes how it was asked.
type script struct {
	submit, status func() (string, error)
	asked          string
}

func (s *script) Submit(context.Context, int) (string, error) {
	s.asked += "+"
	return s.submit()
}

func (s *script) Status(context.Context, int) (string, error) {
	s.asked += "?"
	return s.status()
}

func read(answer string) Reading {
	switch answer {
	case "":
		return NoAnswer
	case "unseen":
		return Unseen
	}
	return Seen
}

func TestAsk(t *testing.T) {
	says := func(answer string) func() (string, error) {
		return func() (string, error) { return answer, nil }
	}
	lost := func() (string, error) { return "paid", errors.New("a broken connection") }
	panics := func() (string, error) { panic("0241234567") }
	for name, test := range map[string]struct {
		first          bool
		submit, status func() (string, error)
		asked, answer  string // no answer is an error
	}{
		"first":                        {true, says("paid"), panics, "+", "paid"},
		"first and lost":               {true, lost, panics, "+", ""},
		"first and unseen":             {true, says("unseen"), panics, "+", ""},
		"first and no answer":          {true, says(""), panics, "+", ""},
		"first and a panic":            {true, panics, panics, "+", ""},
		"again":                        {false, panics, says("refused"), "?", "refused"},
		"again and lost":               {false, panics, lost, "?", ""},
		"again and no answer":          {false, panics, says(""), "?", ""},
		"again and a panic":            {false, says("paid"), panics, "?", ""},
		"again and never seen":         {false, says("paid"), says("unseen"), "?+", "paid"},
		"again, never seen, then lost": {false, lost, says("unseen"), "?+", ""},
	} {
		s := &script{submit: test.submit, status: test.status}
		answer, err := Ask[int, string](t.Context(), s, 1, test.first, read)
		if answer != test.answer || (err == nil) != (test.answer != "") || s.asked != test.asked {
			t.Errorf("%s: asked %s, got %q, %v", name, s.asked, answer, err)
		}
	}
	// What a host's code panics with may be a number, and is not told.
	_, err := Ask[int, string](t.Context(), &script{submit: panics}, 1, true, read)
	if !errors.Is(err, errPanicked) {
		t.Errorf("a panic is %v", err)
	}
}

func TestSchedule(t *testing.T) {
	s := Schedule{time.Second, time.Minute}
	for asked, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: time.Minute, 3: time.Minute, 99: time.Minute} {
		if got := s.After(asked); got != want {
			t.Errorf("after %d: %s", asked, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aɛ", 2, "a"}, {"ɛɛ", 3, "ɛ"}, {"ɛ", 1, ""}, {"₵₵", 5, "₵"},
	} {
		if got := Cut(test.text, test.most); got != test.want {
			t.Errorf("%q to %d: %q", test.text, test.most, got)
		}
	}
}
