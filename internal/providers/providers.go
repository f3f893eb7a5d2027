// Package providers runs the one loop that sees orders through to their outcome:
// transfers, refunds and charges. It stands above the packages that make and book orders,
// and calls down: into their Begin and Book, with the steps of package dispatch.
//
// It owns the worker, and [provider.Service]: what callbacks report, the list of stuck and
// contradicted orders, and the comparison with a provider's statement. It does not own what
// an outcome does to money and objects.
package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
)

// Config is what the service works with.
type Config struct {
	Payouts  *payout.Internal
	Refunds  *refund.Internal
	Invoices *invoice.Internal
	// StuckAfter is how long an order may take before it is listed as stuck.
	StuckAfter time.Duration
}

// Service implements [provider.Service], and the work behind it.
type Service struct {
	engine *engine.Engine
	config Config
}

var _ provider.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	return &Service{engine: e, config: c}
}

// Jobs submit what is due to its provider, and ask what became of it.
func (s *Service) Jobs() []work.Job {
	const atATime, chargesAtATime = 64, 32 // most of it waits for the provider
	var jobs []work.Job
	for _, k := range transfer.Kinds {
		jobs = append(jobs, s.job(k.Object, s.config.Payouts.Records(k), atATime))
	}
	return append(jobs,
		s.job("refund", s.config.Refunds.Records(), atATime),
		s.job("invoice", s.config.Invoices.Records(), chargesAtATime))
}

func (s *Service) job(object string, kind *storage.Kind, atATime int) work.Job {
	return work.Job{
		Kind: kind, Timeout: dispatch.WorkLimit, Batch: atATime,
		Do: func(ctx context.Context, claimed storage.Record) error { return s.send(ctx, object, claimed) },
	}
}

// send submits an order or asks what became of it, and books the answer. The record is
// leased meanwhile: it stays due, and another worker takes it over if this process dies.
func (s *Service) send(ctx context.Context, object string, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	var call *dispatch.Call
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
		call, err = s.begin(ctx, tx, object, claimed.ID)
		return err
	})
	if err != nil || call == nil {
		return err
	}
	if _, _, err = call.Do(ctx, s.engine, caller, s.book); errors.Is(err, provider.ErrContradicted) {
		return nil // it is on record, and not to be tried again
	}
	return err
}

// begin counts an attempt and returns the call of the provider; nil where there is nothing
// to call.
func (s *Service) begin(ctx context.Context, tx *engine.Tx, object, id string) (*dispatch.Call, error) {
	switch object {
	case "refund":
		return s.config.Refunds.Begin(ctx, tx, id)
	case "invoice":
		return s.config.Invoices.Begin(ctx, tx, id)
	}
	return s.config.Payouts.Begin(ctx, tx, object, id)
}

// book books a result of an order.
func (s *Service) book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, r provider.Result) (dispatch.Decision, error) {
	switch ref.Object {
	case "refund":
		return s.config.Refunds.Book(ctx, tx, ref, r)
	case "invoice":
		return s.config.Invoices.Book(ctx, tx, ref, r)
	}
	return s.config.Payouts.Book(ctx, tx, ref, r)
}

// info describes an order.
func (s *Service) info(tx *engine.ReadTx, k *dispatch.Kind, ref dispatch.Ref, e *dispatch.Entry) (*provider.OrderInfo, error) {
	var info *provider.OrderInfo
	var err error
	switch k {
	case dispatch.Refunds:
		info, err = s.config.Refunds.Info(tx, ref)
	case dispatch.Charges:
		info, err = s.config.Invoices.Info(tx, ref)
	default:
		info, err = s.config.Payouts.Info(tx, ref)
	}
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		info.ID = ref.ID
	}
	info.Kind, info.Object, info.Record = provider.Kind(k.Name), ref.Object, ref.Record
	info.Merchant, info.Live, info.Contradiction = tx.Caller.Merchant, tx.Caller.Live, e.Contradiction
	info.CreatedAt = e.CreatedAt.Time
	if k == dispatch.Charges { // which the index has from the first attempt on
		info.SubmittedAt = e.CreatedAt.Time
	}
	return info, nil
}

// Notify implements [provider.Service].
func (s *Service) Notify(ctx context.Context, id string, r provider.Result) error {
	if !r.Outcome.Known() {
		return api.Invalid("outcome", "outcome must be in_progress, paid or refused.")
	}
	k := kindOf(id)
	entry, caller, err := k.Find(ctx, s.engine, id, k.Name)
	if err != nil {
		return err
	}
	if _, err = dispatch.Apply(ctx, s.engine, caller, entry.Ref(id), r, s.book); err == nil {
		s.engine.Log.InfoContext(ctx, "the provider has reported", k.Name, id, "merchant", caller.Merchant, "live", caller.Live, "outcome", r.Outcome)
	}
	return err
}

// kindOf returns the kind of orders whose ids look like this one.
func kindOf(id string) *dispatch.Kind {
	switch {
	case strings.HasPrefix(id, "re_"):
		return dispatch.Refunds
	case strings.HasPrefix(id, "att_"):
		return dispatch.Charges
	}
	return dispatch.Transfers
}

// CountStuck counts the orders of a mode that List would list, up to limit of each kind.
func (s *Service) CountStuck(tx storage.ReadTx, live bool, limit int) (n int, err error) {
	for _, k := range dispatch.All {
		stuck, err := k.CountStuck(tx, s.engine, live, s.config.StuckAfter, limit)
		if err != nil {
			return 0, err
		}
		n += stuck
	}
	return n, nil
}

// List implements [provider.Service].
func (s *Service) List(ctx context.Context, caller api.Caller, p provider.ListParams) (*api.List[provider.OrderInfo], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var all []provider.OrderInfo
	for _, k := range dispatch.All {
		if p.Kind != "" && p.Kind != provider.Kind(k.Name) {
			continue
		}
		err := k.EachStuck(ctx, s.engine, caller.Live, s.config.StuckAfter, func(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) error {
			if caller.Merchant != "" && caller.Merchant != tx.Caller.Merchant || p.Contradicted && e.Contradiction == "" {
				return nil
			}
			info, err := s.info(tx, k, ref, e)
			// An order may have ended since the index was read.
			if err == nil && (e.Contradiction != "" || info.Outcome != provider.Paid && info.Outcome != provider.Refused) {
				all = append(all, *info)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("providers: list: %w", err)
		}
	}
	slices.SortStableFunc(all, func(a, b provider.OrderInfo) int {
		return cmp.Compare(min(1, len(b.Contradiction)), min(1, len(a.Contradiction)))
	})
	return engine.SliceOf("", "order", all, func(o *provider.OrderInfo) string { return o.ID }, p.Page)
}

// Resolve implements [provider.Service].
func (s *Service) Resolve(ctx context.Context, id string) error {
	return kindOf(id).Resolve(ctx, s.engine, id)
}
