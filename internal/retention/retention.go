// Package retention removes records that a host keeps only for a certain time.
//
// It owns the pass over them: its times, its search for old records, and its limits for one
// transaction. The packages that store the records bring the rules.
//
// A record has a creation time and no removal time. So a change of the host's setting also
// affects existing records.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

const (
	// every is the time from one pass to the next. A record stays at most this long past its
	// time, in addition to the pass itself.
	every = time.Hour
	// retry is the time until a pass continues after a failure of the store.
	retry = time.Minute
	limit = time.Minute

	// pageSize and viewPages bound the reads of one View, maxRows and maxBytes the removals of
	// one Update, for which writers wait.
	pageSize  = 100
	viewPages = 50
	maxRows   = 200
	maxBytes  = 1 << 20
)

// Rule sets the retention of the records of a kind. Their ids ascend with their creation in each
// scope.
type Rule struct {
	Kind *storage.Kind
	// Keep is the time from the creation on, by the clock of the scope; zero keeps records for
	// good.
	Keep time.Duration
	// Created returns when a record was created, and whether it may be removed by now.
	Created func(storage.Record) (at time.Time, removable bool, err error)
	// Remove removes a record and its dependent records, and returns the number of records
	// removed. After ErrConflict or ErrNotFound the next pass tries again.
	Remove func(tx *engine.Tx, r storage.Record) (int, error)
	// Stays says that Remove removes a part of a record, and the record stays. A pass begins
	// after the records that earlier passes have visited, and does not return to one that was not
	// removable then. A later change of that record must remove the part itself, if the record is
	// old. Remove reads the record again, so it meets no conflict.
	Stays bool
}

// name tells the rules of a kind apart: one may remove records, and another a part of them.
func (r *Rule) name() string {
	if r.Stays {
		return r.Kind.Name + " part"
	}
	return r.Kind.Name
}

// Outlived reports whether a record that ends now loses its part at once, since a pass has gone by it. So
// it is if it is older than keep, after which this process removes parts; zero removes none. So it is, too,
// if its id is before the mark, which a process with a shorter keep may have moved. A pass visits no record
// younger than an hour, and Outlived reads no mark for one.
func Outlived(tx storage.ReadTx, kind *storage.Kind, scope storage.Scope, id string, created api.Time, now time.Time, keep time.Duration) (bool, error) {
	age := now.Sub(created.Time)
	switch {
	case keep > 0 && age >= keep:
		return true, nil
	case age < every:
		return false, nil
	}
	o, err := engine.OrNil(marks.Get(tx, scope, kind.Name))
	return o != nil && id <= o.Value.ID, err
}

// NewRule returns the rule that removes old records of a collection. about returns when a
// record was created, and whether it may be removed by now.
func NewRule[T any](c *storage.Collection[T], keep time.Duration, about func(*T) (created api.Time, removable bool)) Rule {
	return Rule{
		Kind: c.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := c.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			created, removable := about(&o.Value)
			return created.Time, removable, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			return 1, engine.Delete(tx, c, &storage.Object[T]{Scope: r.Scope, ID: r.ID, Version: r.Version, Number: r.Number})
		},
	}
}

// PartRule returns the rule that forgets a part of old records, which stay. about is as for [NewRule].
func PartRule[T any](c *storage.Collection[T], keep time.Duration, about func(*T) (created api.Time, removable bool), forget func(*T)) Rule {
	rule := NewRule(c, keep, about)
	rule.Stays = true
	rule.Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
		o, err := c.Get(tx, r.Scope, r.ID)
		if err != nil {
			return 0, err
		}
		forget(&o.Value)
		return 1, c.Replace(tx, o)
	}
	return rule
}

// Service removes the records that its rules name.
type Service struct {
	engine *engine.Engine
	rules  []Rule
}

// progress is the worker's only record: its due time wakes the worker, and it stores the place of
// the pass.
type progress struct {
	Due api.Time `json:"due"`
	// Began is the start of the pass under way; nil between two.
	Began *api.Time `json:"began,omitempty"`
	// Kind is the name of the rule. Scope and ID identify the last record visited.
	Kind  string        `json:"kind,omitempty"`
	Scope storage.Scope `json:"scope,omitzero"`
	ID    string        `json:"id,omitempty"`
}

const progressID = "retention"

// mark is the place that the passes have reached in a scope, for a rule whose records stay. Its
// id is the name of the kind.
type mark struct {
	ID string `json:"id"`
	// Keep is the rule's at that time. A rule that keeps longer by now begins anew: a record before the
	// mark may have ended since and kept its part, because it was young enough for the longer time. A
	// process that still keeps less may write its mark after [forgetMarks].
	Keep time.Duration `json:"keep,omitempty"`
}

// covers reports whether the mark counts for a rule.
func (m *mark) covers(rule *Rule) bool { return m.Keep >= rule.Keep }

var marks = storage.NewCollection[mark]("retention_marks", nil)

// markOf returns the id of the last visited record of a scope, or "".
func markOf(tx storage.ReadTx, rule *Rule, scope storage.Scope) (string, error) {
	o, err := engine.OrNil(marks.Get(tx, scope, rule.Kind.Name))
	if o == nil || err != nil || !o.Value.covers(rule) {
		return "", err
	}
	return o.Value.ID, nil
}

// forgetMarks removes the marks of rules that are off or keep longer now; keeps has the time of each rule.
// Such a rule begins anew, now or when it is on or shorter again, since what has ended meanwhile has kept
// its part.
func forgetMarks(ctx context.Context, e *engine.Engine, keeps map[string]time.Duration) error {
	for _, live := range []bool{false, true} {
		if len(keeps) == 0 {
			return nil
		}
		in := engine.Within{Scope: storage.Scope{Live: live}, All: true}
		err := engine.Rewrite(ctx, e, marks, in, func(o *storage.Object[mark]) (bool, error) {
			keep, known := keeps[o.ID]
			forget := known && o.Value != mark{} && (keep == 0 || o.Value.Keep < keep)
			if forget {
				o.Value = mark{}
			}
			return forget, nil
		})
		if err != nil {
			return fmt.Errorf("retention: %w", err)
		}
	}
	return nil
}

// setMarks moves marks on.
func (s *Service) setMarks(ctx context.Context, rule *Rule, reached map[storage.Scope]string) error {
	if len(reached) == 0 {
		return nil
	}
	return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		for scope, id := range reached {
			o, err := marks.GetOrNew(tx, scope, rule.Kind.Name)
			if err == nil && (o.Value.ID < id || !o.Value.covers(rule)) {
				o.Value = mark{id, rule.Keep}
				err = marks.Put(tx, o)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var progressRecords = storage.NewCollection("retention", []storage.Field[progress]{
	storage.NullTimeColumn("due", func(p *progress) *api.Time { return &p.Due }),
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{progressRecords.Kind(), marks.Kind()} }

// New returns the service. It ignores rules without a limit. It fails if the store cannot scan
// all scopes in the order of ids.
func New(ctx context.Context, e *engine.Engine, rules ...Rule) (*Service, error) {
	s := &Service{engine: e}
	keeps := map[string]time.Duration{}
	for _, r := range rules {
		if r.Keep > 0 {
			s.rules = append(s.rules, r)
		}
		if r.Stays {
			keeps[r.Kind.Name] = r.Keep
		}
	}
	if err := forgetMarks(ctx, e, keeps); err != nil {
		return nil, err
	}
	if len(s.rules) == 0 {
		return s, nil
	}
	err := e.Store.View(ctx, func(tx storage.ReadTx) error {
		_, err := progressRecords.Get(tx, storage.Scope{}, progressID)
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		err = e.Store.Update(ctx, func(tx storage.Tx) error {
			_, err := progressRecords.Insert(tx, storage.Scope{}, progressID, progress{Due: api.At(e.Clock().Add(retry))})
			if errors.Is(err, storage.ErrExists) {
				return nil
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("retention: %w", err)
	}
	return s, nil
}

// Job returns the job that passes over the kinds repeatedly. It stores its place between runs.
func (s *Service) Job() work.Job {
	return work.Job{
		Kind: progressRecords.Kind(), Timeout: limit, Batch: 1,
		RunBatch: work.Pass(progressRecords, s.engine.Store, func(ctx context.Context, p *progress) error {
			work.SetReport(ctx, work.Report{Name: "removed", Level: slog.LevelDebug})
			return s.continuePass(ctx, p)
		}),
	}
}

// continuePass continues a pass until its end, or until half of the limit is over.
func (s *Service) continuePass(ctx context.Context, p *progress) error {
	now := s.engine.Clock()
	if p.Began == nil {
		*p = progress{Began: new(api.At(now))}
	}
	for i := range s.rules {
		rule := &s.rules[i]
		if p.Kind != "" && p.Kind != rule.name() && s.comesLater(p.Kind, i) {
			continue // already done
		}
		if p.Kind != rule.name() {
			p.Kind, p.Scope, p.ID = rule.name(), storage.Scope{}, ""
		}
		for more := true; more; {
			var err error
			if more, err = s.step(ctx, rule, p); err != nil {
				p.Due = api.At(now.Add(retry))
				return fmt.Errorf("retention: %s: %w", rule.Kind.Name, err)
			}
			if more && work.HalfOver(ctx, limit) {
				p.Due = api.At(now)
				return nil
			}
		}
	}
	*p = progress{Due: api.At(p.Began.Add(every))}
	if p.Due.Before(now) {
		p.Due = api.At(now)
	}
	return nil
}

// comesLater reports whether the rule for a kind comes after the given one.
func (s *Service) comesLater(kind string, than int) bool {
	for i := than + 1; i < len(s.rules); i++ {
		if s.rules[i].name() == kind {
			return true
		}
	}
	return false
}

// step removes some old records from the place on, and moves the place. In each scope it reads
// from the oldest record to the first that is young. So it takes one read for a scope without old
// records.
func (s *Service) step(ctx context.Context, rule *Rule, p *progress) (more bool, err error) {
	var old []storage.Record
	var at progress
	var reached map[storage.Scope]string // for a rule whose records stay
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		old, at, more, reached = nil, *p, true, map[storage.Scope]string{}
		var cutoff time.Time
		limit, bytes := 1, 0
		for range viewPages {
			page, err := tx.Scan(rule.Kind, at.Scope, at.ID, limit)
			if err != nil {
				return err
			}
			more, limit = len(page) > 0, pageSize
			for i := range page {
				r := &page[i]
				if r.Scope != at.Scope || cutoff.IsZero() {
					now, err := s.engine.NowTx(tx, api.Caller{Merchant: r.Scope.Merchant, Live: r.Scope.Live})
					if err != nil {
						return err
					}
					cutoff = now.Add(-rule.Keep)
					if rule.Stays {
						done, err := markOf(tx, rule, r.Scope)
						if err != nil {
							return err
						}
						if done >= r.ID {
							at.Scope, at.ID, limit = r.Scope, done, 1
							break
						}
					}
				}
				at.Scope, at.ID = r.Scope, r.ID
				created, removable, err := rule.Created(*r)
				if err != nil {
					continue // an unreadable record stays
				}
				if created.After(cutoff) {
					at.ID, limit = lastID, 1
					break
				}
				if rule.Stays {
					reached[r.Scope] = r.ID
				}
				if removable {
					old = append(old, *r)
					bytes += len(r.Data)
				}
				if len(old) == maxRows || bytes >= maxBytes {
					return nil
				}
			}
			if !more {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for len(old) > 0 {
		n, err := s.remove(ctx, rule, old)
		if err != nil {
			return false, err
		}
		p.Scope, p.ID = old[n-1].Scope, old[n-1].ID
		old = old[n:]
	}
	if err := s.setMarks(ctx, rule, reached); err != nil {
		return false, err
	}
	p.Scope, p.ID = at.Scope, at.ID
	return more, nil
}

// lastID sorts after every id.
const lastID = "\x7f"

// remove removes the first of some records in one transaction, and returns how many it removed.
func (s *Service) remove(ctx context.Context, rule *Rule, old []storage.Record) (n int, err error) {
	err = s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		n = 0
		for rows := 0; n < len(old) && rows < maxRows; n++ {
			r := old[n]
			of, err := tx.As(api.Caller{Merchant: r.Scope.Merchant, Live: r.Scope.Live})
			if err != nil {
				return err
			}
			removed, err := rule.Remove(of, r)
			if err != nil && !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			rows += removed
		}
		return nil
	})
	return n, err
}
