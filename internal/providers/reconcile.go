package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Reconcile implements [provider.Service].
func (s *Service) Reconcile(ctx context.Context, caller api.Caller, p provider.ReconcileParams) (*provider.Reconciliation, error) {
	report := &provider.Reconciliation{}
	seen := map[string]bool{}
	for {
		row, err := p.Rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("providers: read statement: %w", err)
		}
		if seen[row.Reference] {
			report.Repeated = append(report.Repeated, row)
			continue
		}
		seen[row.Reference] = true
		order, err := s.findReferenced(ctx, caller.Live, &p, row.Reference)
		if err != nil {
			return nil, fmt.Errorf("providers: reconcile: %w", err)
		}
		compare(report, &p, provider.Difference{Row: row, Order: order})
	}
	q := storage.Query{Range: engine.InTimes(nil, "created", api.Times{From: p.From, Until: p.Until})}
	for _, f := range s.covered(&p) {
		err := f.Each(ctx, s.engine, caller.Live, q, func(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) error {
			order, err := f.info(tx, ref, e)
			if err == nil && !order.SubmittedAt.IsZero() && !seen[order.ID] {
				report.MissingThere = append(report.MissingThere, provider.Difference{Order: order})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("providers: reconcile: %w", err)
		}
	}
	return report, nil
}

// covered returns the flows whose orders a statement covers.
func (s *Service) covered(p *provider.ReconcileParams) []*flow {
	return slices.DeleteFunc(s.all(), func(f *flow) bool {
		return len(p.Flows) > 0 && !slices.Contains(p.Flows, f.Name)
	})
}

// findReferenced returns the order that a row refers to, or nil.
func (s *Service) findReferenced(ctx context.Context, live bool, p *provider.ReconcileParams, id string) (*provider.OrderInfo, error) {
	f := s.flowOf(id)
	if !slices.Contains(s.covered(p), f) {
		return nil, nil
	}
	var order *provider.OrderInfo
	entry, owner, err := f.FindInIndex(ctx, s.engine, id, string(f.Name))
	switch {
	case api.CodeOf(err) == api.ResourceMissing, err == nil && owner.Live != live:
		return nil, nil
	case err != nil:
		return nil, err
	}
	err = s.engine.View(ctx, owner, func(tx *engine.ReadTx) (err error) {
		order, err = f.info(tx, entry.Ref(id), entry)
		return err
	})
	return order, err
}

// compare adds a row and its order to the report.
func compare(report *provider.Reconciliation, p *provider.ReconcileParams, d provider.Difference) {
	if d.Order == nil {
		report.MissingHere = append(report.MissingHere, d)
		return
	}
	amount := d.Row.Amount.Equal(api.FromPesewas(d.Order.Amount).Decimal)
	if !amount {
		report.AmountDiffers = append(report.AmountDiffers, d)
	}
	status := agrees(p.Outcome(d.Row.Status), d.Order.Outcome)
	if !status {
		report.StatusDiffers = append(report.StatusDiffers, d)
	}
	if amount && status {
		report.Matched++
	}
}

// agrees reports whether a statement says what is booked. Refused and Reversed agree: the money is not
// with its recipient, and providers use one word for both.
func agrees(stated, booked provider.Outcome) bool {
	if stated.Final() && booked.Final() {
		return (stated == provider.Paid) == (booked == provider.Paid)
	}
	return stated == provider.InProgress && booked == provider.InProgress
}
