//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// report prints the answers of each scene, and the books.
func report(out io.Writer, scenes []scene, l *load, b *books) {
	section(out, l, scene{name: "before", at: l.begun}, next(scenes, 0))
	for i, s := range scenes {
		section(out, l, s, next(scenes, i+1))
	}
	fmt.Fprintf(out, "\nacknowledged %d, lost %d, doubled %d, unanswered %d, refused %d\n", len(l.acks), len(b.lost), len(b.doubled), l.unanswered, len(l.refused))
	for _, a := range b.lost[:min(len(b.lost), 10)] {
		during := scene{name: "begin", at: l.begun}
		for _, s := range scenes {
			if s.at.Before(a.ended) {
				during = s
			}
		}
		fmt.Fprintf(out, "lost: %s, acknowledged %s after %q, asked for %s before that\n", a.key, seconds(a.ended.Sub(during.at)), during.name, seconds(a.ended.Sub(a.begun)))
	}
	fmt.Fprintf(out, "ledger: %d accounts, %d postings, %d entries, %d problems\n", b.Accounts, b.Postings, b.Entries, len(b.Problems))
}

// next is when a scene begins, or later than all when there is none.
func next(scenes []scene, i int) time.Time {
	if i < len(scenes) {
		return scenes[i].at
	}
	return time.Now()
}

// section prints what was answered from the beginning of a scene to that of the next.
func section(out io.Writer, l *load, s scene, until time.Time) {
	answers := map[string]int{}
	var wait, longest time.Duration
	var good time.Time // the first good answer after the promotion
	for _, a := range l.attempts {
		if a.ended.Before(s.at) || !a.ended.Before(until) {
			continue
		}
		answers[a.answer]++
		wait = max(wait, a.ended.Sub(a.begun))
		if a.good() && a.ended.After(s.promoted) && (good.IsZero() || a.ended.Before(good)) {
			good = a.ended
		}
	}
	for _, a := range l.acks {
		if !a.ended.Before(s.at) && a.ended.Before(until) {
			longest = max(longest, a.ended.Sub(a.begun))
		}
	}
	fmt.Fprintf(out, "\n%s\n", s.name)
	line := func(name, value string) { fmt.Fprintf(out, "  %-40s %s\n", name, value) }
	if !s.promoted.IsZero() {
		line("until the promotion", seconds(s.promoted.Sub(s.at)))
		after := "never"
		if !good.IsZero() {
			after = seconds(good.Sub(s.promoted))
		}
		line("from there to the first good answer", after)
	}
	line("longest wait for an answer", seconds(wait))
	line("longest until acknowledged, with retries", seconds(longest))
	var counts []string
	for _, answer := range slices.Sorted(maps.Keys(answers)) {
		counts = append(counts, fmt.Sprintf("%s: %d", answer, answers[answer]))
	}
	line("answers", strings.Join(counts, ", "))
}
