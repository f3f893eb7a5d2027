package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Maker makes the orders of one object, such as a payout, and records their outcomes.
type Maker interface {
	// Kind is the kind of the records that are due when their orders are to be worked on.
	Kind() *storage.Kind
	// FindOwnOrder returns the order of the caller's with that id.
	FindOwnOrder(ctx context.Context, e *engine.Engine, caller api.Caller, id string) (Ref, error)
	// Begin counts an attempt for a record and returns the call of the provider; nil if there is nothing to call.
	Begin(ctx context.Context, tx *engine.Tx, id string) (*Call, error)
	// ApplyResult applies a provider's result to an order.
	ApplyResult(ctx context.Context, tx *engine.Tx, ref Ref, r provider.Result) (Decision, error)
	// Info describes an order that has this entry.
	Info(tx *engine.ReadTx, ref Ref, e *Entry) (*provider.OrderInfo, error)
	// Load returns the object as hosts see it, and the word for its status.
	Load(tx *engine.Tx, ref Ref) (object any, status string, err error)
}

// Registration says who makes the orders of an object.
type Registration struct {
	Flow *Flow
	// Object is what an order is part of; see [Ref].
	Object string
	// Prefix is the prefix of the orders' ids. An id with none of the prefixes belongs to a registration
	// without a Prefix. Those registrations are all of one flow.
	Prefix string
	Maker  Maker
}

// Register sets the makers of all orders, once and before the jobs run. It fails if a maker is missing: the due
// orders of that kind would never be submitted.
func (s *Service) Register(all ...Registration) error {
	for _, r := range all {
		if r.Maker == nil {
			return fmt.Errorf("orders: nothing makes the orders of %s", r.Object)
		}
	}
	for _, f := range flows {
		if !slices.ContainsFunc(all, func(r Registration) bool { return r.Flow == f }) {
			return fmt.Errorf("orders: nothing makes a %s", f.Name)
		}
	}
	if !slices.ContainsFunc(all, func(r Registration) bool { return r.Prefix == "" }) {
		return errors.New("orders: nothing makes the orders whose ids have no prefix")
	}
	s.makers = all
	return nil
}

// candidates returns what may have made the order with an id.
func (s *Service) candidates(id string) (found []Registration) {
	for _, r := range s.makers {
		if r.Prefix != "" && strings.HasPrefix(id, r.Prefix) {
			found = append(found, r)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, r := range s.makers {
		if r.Prefix == "" {
			found = append(found, r)
		}
	}
	return found
}

// flowOf returns the flow of orders whose ids look like this one.
func (s *Service) flowOf(id string) *Flow { return s.candidates(id)[0].Flow }

// makerOf returns what has made the order of a flow. It fails if nothing makes orders of that object.
func (s *Service) makerOf(f *Flow, ref Ref) (Maker, error) {
	i := slices.IndexFunc(s.makers, func(r Registration) bool { return r.Flow == f && r.Object == ref.Object })
	if i < 0 {
		return nil, fmt.Errorf("orders: nothing makes a %s of a %q, so %s is unknown", f.Name, ref.Object, ref.ID)
	}
	return s.makers[i].Maker, nil
}

// findOwn returns the order of the caller's with an id, and what has made it.
func (s *Service) findOwn(ctx context.Context, caller api.Caller, id string) (Ref, Maker, error) {
	all := s.candidates(id)
	for _, r := range all {
		ref, err := r.Maker.FindOwnOrder(ctx, s.engine, caller, id)
		if err == nil {
			return ref, r.Maker, nil
		}
		if len(all) == 1 || api.CodeOf(err) != api.ResourceMissing {
			return Ref{}, nil, err
		}
	}
	return Ref{}, nil, api.NoSuch(string(all[0].Flow.Name))
}

// info describes an order of a flow that has this entry.
func (s *Service) info(f *Flow, tx *engine.ReadTx, ref Ref, e *Entry) (*provider.OrderInfo, error) {
	maker, err := s.makerOf(f, ref)
	if err != nil {
		return nil, err
	}
	info, err := maker.Info(tx, ref, e)
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		info.ID = ref.ID
	}
	info.Flow, info.Object, info.Record = f.Name, ref.Object, ref.Record
	info.Merchant, info.Live, info.Contradiction = tx.Caller.Merchant, tx.Caller.Live, e.Contradiction
	info.Reported, info.LastError = e.Reported, e.LastError
	if e.ReportedAt != nil {
		info.ReportedAt = e.ReportedAt.Time
	}
	if e.ResolvedAt != nil {
		info.ResolvedAt = e.ResolvedAt.Time
	}
	info.CreatedAt, info.ProviderFee = e.CreatedAt.Time, e.ProviderFee
	if info.Route == "" { // an ended charge of an invoice has left no other trace of it
		info.Route = e.Route
	}
	return info, nil
}
