package outside

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Books are ours, against which a provider's statement of rows R is held.
type Books[R, T any] struct {
	// Reference is the id that a row names.
	Reference func(R) string
	// Find returns the object with that id and its merchant, or nil if it is none of
	// ours.
	Find func(ctx context.Context, id string) (*T, string, error)
	// SameAmount and SameStatus compare a row with its object.
	SameAmount, SameStatus func(R, *T) bool
	// Told calls do for every object of the statement's time that the provider was
	// told of.
	Told func(ctx context.Context, do func(id string, t *T, merchant string)) error
}

// Difference is a row, an object, or both.
type Difference[R, T any] struct {
	Row      R
	Object   *T
	Merchant string
}

// Reconciled is what a comparison has found: rows that agree, rows without object,
// objects without row, rows that disagree, and rows whose reference stood before.
type Reconciled[R, T any] struct {
	Matched                                             int
	MissingHere, MissingThere, OtherAmount, OtherStatus []Difference[R, T]
	Repeated                                            []R
}

// Reconcile compares a statement, of which next reads a row or returns io.EOF, with
// the books. It remembers the references of the statement.
func Reconcile[R, T any](ctx context.Context, next func() (R, error), b Books[R, T]) (*Reconciled[R, T], error) {
	report := &Reconciled[R, T]{}
	seen := map[string]bool{}
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("outside: read statement: %w", err)
		}
		id := b.Reference(row)
		if seen[id] {
			report.Repeated = append(report.Repeated, row)
			continue
		}
		seen[id] = true
		t, merchant, err := b.Find(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("outside: reconcile: %w", err)
		}
		d := Difference[R, T]{row, t, merchant}
		if t == nil {
			report.MissingHere = append(report.MissingHere, d)
			continue
		}
		amount, status := b.SameAmount(row, t), b.SameStatus(row, t)
		if !amount {
			report.OtherAmount = append(report.OtherAmount, d)
		}
		if !status {
			report.OtherStatus = append(report.OtherStatus, d)
		}
		if amount && status {
			report.Matched++
		}
	}
	err := b.Told(ctx, func(id string, t *T, merchant string) {
		if !seen[id] {
			report.MissingThere = append(report.MissingThere, Difference[R, T]{Object: t, Merchant: merchant})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("outside: reconcile: %w", err)
	}
	return report, nil
}

// Each changes differences into those that a package shows.
func Each[R, T, D any](all []Difference[R, T], show func(Difference[R, T]) D) []D {
	var shown []D
	for _, d := range all {
		shown = append(shown, show(d))
	}
	return shown
}
