package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
)

// Reconcile implements [provider.Service].
func (s *Service) Reconcile(ctx context.Context, caller api.Caller, p provider.ReconcileParams) (*provider.Reconciliation, error) {
	if p.Book {
		if err := s.config.Accounts.OperatorOnly(caller); err != nil {
			return nil, err
		}
		if p.Route == "" && caller.Live && s.named() {
			return nil, api.Invalid("route", "To book a statement, say with route whose it is: your providers have names.")
		}
	}
	if p.Rows == nil {
		return nil, api.Missing("rows")
	}
	report := &provider.Reconciliation{}
	seen := map[string]bool{}
	for {
		row, err := p.Rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("orders: read statement: %w", err)
		}
		if row.Reference != "" && seen[row.Reference] { // what has no reference is no order
			report.Repeated = append(report.Repeated, row)
			continue
		}
		seen[row.Reference] = true
		if row.Settlement {
			err = s.reconcileSettlement(ctx, caller, report, &p, row)
		} else {
			err = s.reconcileOrder(ctx, caller, report, &p, row)
		}
		if err != nil {
			return nil, fmt.Errorf("orders: reconcile: %w", err)
		}
	}
	q := engine.Query(api.Caller{}, struct {
		Created api.Times `param:"created"`
	}{api.Times{From: p.From, Until: p.Until}})
	for _, f := range s.covered(&p) {
		err := f.Each(ctx, s.engine, caller.Live, q, nil, func(tx *engine.ReadTx, ref Ref, e *Entry) error {
			order, err := s.info(f, tx, ref, e)
			if err == nil && !order.SubmittedAt.IsZero() && !seen[order.ID] && (p.Route == "" || order.Route == p.Route) {
				report.MissingThere = append(report.MissingThere, provider.Difference{Order: order})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("orders: reconcile: %w", err)
		}
	}
	return report, nil
}

// covered returns the flows whose orders a statement covers.
func (s *Service) covered(p *provider.ReconcileParams) []*Flow {
	return slices.DeleteFunc(slices.Clone(flows), func(f *Flow) bool {
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
		order, err = s.info(f, tx, entry.Ref(id), entry)
		return err
	})
	return order, err
}

// reconcileOrder compares a row with its order, and books the provider's fee if that is wanted.
func (s *Service) reconcileOrder(ctx context.Context, caller api.Caller, report *provider.Reconciliation, p *provider.ReconcileParams, row provider.Row) error {
	order, err := s.findReferenced(ctx, caller.Live, p, row.Reference)
	if err != nil {
		return err
	}
	d := provider.Difference{Row: row, Order: order}
	if order == nil {
		report.MissingHere = append(report.MissingHere, d)
		return nil
	}
	matches := compare(report, p, d)
	if row.Fee != nil {
		fee, err := money.ToPesewas(*row.Fee)
		switch {
		case err == nil && fee == order.ProviderFee:
		case err == nil && matches && p.Book && (order.Outcome == provider.Paid || order.Outcome == provider.Reversed) && 0 <= fee && fee <= money.Max:
			if err := s.bookFee(ctx, order, fee); err != nil {
				return err
			}
			report.Booked = append(report.Booked, row)
		default:
			report.FeeDiffers = append(report.FeeDiffers, d)
			matches = false
		}
	}
	if matches {
		report.Matched++
	}
	return nil
}

// bookFee corrects the booked provider's fee of an order; see [Flow.bookFee].
func (s *Service) bookFee(ctx context.Context, order *provider.OrderInfo, fee int64) error {
	owner := api.Caller{Merchant: order.Merchant, Live: order.Live}
	return s.engine.Update(ctx, owner, func(tx *engine.Tx) error {
		return s.flowOf(order.ID).bookFee(tx, order.ID, fee)
	})
}

// reconcileSettlement compares a row with a recorded settlement, and records it if that is wanted.
func (s *Service) reconcileSettlement(ctx context.Context, caller api.Caller, report *provider.Reconciliation, p *provider.ReconcileParams, row provider.Row) error {
	d := provider.Difference{Row: row}
	reported, recorded, err := s.settlementReported(ctx, caller.Live, p.Route, &row)
	switch paid := p.Outcome(row.Status) == provider.Paid; {
	case errors.Is(err, errNoSettlement): // the other rows may be right
		report.AmountDiffers = append(report.AmountDiffers, d)
		return nil
	case err != nil:
		return err
	case !paid:
		report.StatusDiffers = append(report.StatusDiffers, d)
		return nil
	case recorded == nil && p.Book:
		if _, err := s.RecordSettlement(ctx, caller, reported); err != nil {
			return err
		}
		report.Booked = append(report.Booked, row)
	case recorded == nil:
		report.MissingHere = append(report.MissingHere, d)
		return nil
	case recorded.SettlementParams != reported:
		report.AmountDiffers = append(report.AmountDiffers, d)
		return nil
	}
	report.Matched++
	return nil
}

// errNoSettlement means that a row describes a settlement that cannot be recorded.
var errNoSettlement = errors.New("orders: the statement has a settlement that cannot be recorded")

// settlementReported returns the settlement that a row describes, and the recorded one with its reference, nil if
// there is none. If the row has no fee and the recorded amount is the same, reported takes the recorded fee.
func (s *Service) settlementReported(ctx context.Context, live bool, route string, row *provider.Row) (reported provider.SettlementParams, recorded *provider.Settlement, err error) {
	reported = provider.SettlementParams{Route: route, Reference: row.Reference}
	reported.Amount, err = money.ToPesewas(row.Amount)
	if row.Fee != nil && err == nil {
		reported.Fee, err = money.ToPesewas(*row.Fee)
	}
	if err != nil || checkSettlement(&reported) != nil {
		return reported, nil, fmt.Errorf("%w: %s", errNoSettlement, row.Reference)
	}
	recorded, err = s.findSettlement(ctx, live, route, row.Reference)
	if recorded != nil && recorded.Amount == reported.Amount && row.Fee == nil {
		reported.Fee = recorded.Fee
	}
	return reported, recorded, err
}

// compare adds a row and its order to the report where they disagree, and reports whether they agree. It
// leaves out the fee.
func compare(report *provider.Reconciliation, p *provider.ReconcileParams, d provider.Difference) bool {
	amount := d.Row.Amount.Equal(api.FromPesewas(d.Order.Amount).Decimal)
	if !amount {
		report.AmountDiffers = append(report.AmountDiffers, d)
	}
	status := agrees(p.Outcome(d.Row.Status), d.Order.Outcome)
	if !status {
		report.StatusDiffers = append(report.StatusDiffers, d)
	}
	route := p.Route == "" || d.Order.Route == p.Route
	if !route {
		report.RouteDiffers = append(report.RouteDiffers, d)
	}
	return amount && status && route
}

// agrees reports whether a statement has the recorded outcome. Refused and Reversed agree: the money is not
// with its recipient, and providers use one word for both.
func agrees(stated, recorded provider.Outcome) bool {
	if stated.Final() && recorded.Final() {
		return (stated == provider.Paid) == (recorded == provider.Paid)
	}
	return stated == provider.InProgress && recorded == provider.InProgress
}
