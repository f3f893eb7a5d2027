package mtnmomo

import (
	"maps"
	"slices"

	"github.com/seed-7082ffec/payments/provider"
)

// Reasons returns MTN's reason words that the adapter knows.
func Reasons() []string { return slices.Sorted(maps.Keys(reasons)) }

// Statuses returns what each of MTN's status words means.
func Statuses() map[string]provider.Outcome { return maps.Clone(statuses) }

// Note is note.
func Note(text string) string { return note(text, "Payment") }
