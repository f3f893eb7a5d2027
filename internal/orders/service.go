package orders

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Config holds the service's settings and what it calls.
type Config struct {
	Accounts *party.Service
	// Rail and Charger are those of live mode. They may tell their balance.
	Rail    provider.Rail
	Charger provider.Charger
}

// Service implements [provider.Service], and runs its background work.
type Service struct {
	engine   *engine.Engine
	config   Config
	makers   []Registration
	balances []*cachedBalance
	calls    *callLog
}

var _ provider.Service = (*Service)(nil)

// New returns the service. Register tells it who makes the orders.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{engine: e, config: c, balances: balancesOf(c.Rail, c.Charger), calls: new(callLog)}
	e.NoteCall = s.calls.note
	return s
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}

// Jobs submit the due orders to their providers, and poll for their outcomes.
func (s *Service) Jobs() []work.Job {
	jobs := make([]work.Job, len(s.makers))
	for i, r := range s.makers {
		jobs[i] = s.job(r.Maker)
	}
	return jobs
}

func (s *Service) job(of Maker) work.Job {
	return work.Job{
		Kind: of.Kind(), Timeout: WorkLimit, Batch: 64,
		MaxPerMerchant: 1024, // most wait for the provider
		RunOne:         func(ctx context.Context, claimed storage.Record) error { return s.send(ctx, of, claimed) },
		BeginInTx:      func(ctx context.Context, c storage.Claim) (work.Claimed, error) { return s.begin(ctx, of, c) },
	}
}

// begin claims due orders and begins an attempt of each, in one transaction. The rest of the
// work calls the provider and applies the result. This claim takes no leases; Begin takes them, in
// Order.NewCall: the records stay due, and another worker takes them over if this process dies.
func (s *Service) begin(ctx context.Context, of Maker, c storage.Claim) (work.Claimed, error) {
	var begun []work.Begun
	err := s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		claimed, err := tx.Claim(of.Kind(), c)
		if err != nil {
			return err
		}
		begun = make([]work.Begun, len(claimed))
		for i, record := range claimed {
			own, err := tx.As(api.Caller{Merchant: record.Scope.Merchant, Live: record.Scope.Live})
			if err != nil {
				return err
			}
			reporting, report := work.CollectReport(ctx)
			call, err := of.Begin(reporting, own, record.ID)
			if err != nil {
				return err
			}
			begun[i] = work.Begun{Record: record, Run: func(ctx context.Context) error {
				if call == nil {
					work.SetReport(ctx, *report)
					return nil
				}
				return call.Work(ctx, s.engine, of.ApplyResult)
			}}
		}
		return nil
	})
	return work.Claimed{Begun: begun, More: len(begun) == c.Limit}, err
}

// send is begin and the rest of the work for one claimed order. It is for orders that could
// not begin together.
//
// There are two leases, one after the other. The worker's claim holds the first, and Begin's
// write of the record ends it: its renewal then stops with a conflict, which is no error.
// Begin takes the second in the same transaction, for the [Call].
func (s *Service) send(ctx context.Context, of Maker, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	var call *Call
	err := s.engine.Update(ctx, caller, func(tx *engine.Tx) (err error) {
		call, err = of.Begin(ctx, tx, claimed.ID)
		return err
	})
	if err != nil || call == nil {
		return err
	}
	return call.Work(ctx, s.engine, of.ApplyResult)
}

// Notify implements [provider.Service].
func (s *Service) Notify(ctx context.Context, id string, r provider.Result) error {
	if !r.Outcome.Known() {
		return api.Invalid("outcome", "outcome must be in_progress, paid, refused or reversed.")
	}
	f := s.flowOf(id)
	entry, caller, err := f.FindInIndex(ctx, s.engine, id, string(f.Name))
	if err != nil {
		return err
	}
	if r.TestMode && caller.Live { // no money has moved
		return api.NoSuch(string(f.Name))
	}
	ref := entry.Ref(id)
	maker, err := s.makerOf(f, ref)
	if err != nil {
		return err
	}
	if _, err = applyInOwnTx(ctx, s.engine, caller, ref, r, maker.ApplyResult); err == nil {
		s.engine.Log.InfoContext(ctx, "the provider has reported", string(f.Name), id, "merchant", caller.Merchant, "live", caller.Live, "outcome", r.Outcome)
	}
	return err
}

// CountStuck counts the orders of a mode that List would show, up to limit in each flow.
func (s *Service) CountStuck(tx storage.ReadTx, live bool, limit int) (n int, err error) {
	for _, f := range flows {
		stuck, err := f.countStuck(tx, s.engine, live, s.engine.StuckAfter, limit)
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
	wanted := func(e *Entry) bool {
		return (caller.Merchant == "" || caller.Merchant == e.Merchant) && (!p.Contradicted || e.Contradiction != "")
	}
	var all []provider.OrderInfo
	for _, f := range flows {
		if p.Flow != "" && p.Flow != f.Name {
			continue
		}
		err := f.eachStuck(ctx, s.engine, caller.Live, s.engine.StuckAfter, wanted, func(tx *engine.ReadTx, ref Ref, e *Entry) error {
			info, err := s.info(f, tx, ref, e)
			// An order may have ended since the index was read.
			if err == nil && (e.Contradiction != "" || !info.Outcome.Final()) {
				all = append(all, *info)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("orders: list: %w", err)
		}
	}
	slices.SortStableFunc(all, func(a, b provider.OrderInfo) int {
		return cmp.Compare(min(1, len(b.Contradiction)), min(1, len(a.Contradiction)))
	})
	return engine.SliceOf("", "order", all, func(o *provider.OrderInfo) string { return o.ID }, p.Page)
}

// Get implements [provider.Service].
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (info *provider.OrderInfo, err error) {
	f := s.flowOf(id)
	entry, owner, err := f.FindInIndex(ctx, s.engine, id, string(f.Name))
	if err != nil {
		return nil, err
	}
	if owner.Live != caller.Live || caller.Merchant != "" && owner.Merchant != caller.Merchant {
		return nil, api.NoSuch(string(f.Name))
	}
	err = s.engine.View(ctx, owner, func(tx *engine.ReadTx) error {
		info, err = s.info(f, tx, entry.Ref(id), entry)
		return err
	})
	return info, err
}

// Resolve implements [provider.Service].
func (s *Service) Resolve(ctx context.Context, id string) error {
	return s.flowOf(id).Resolve(ctx, s.engine, id)
}
