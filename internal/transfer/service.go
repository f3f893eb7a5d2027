// Package transfer sends money out: it implements [payout.Service] and [disbursement.Service]. It owns
// transfers, one-time codes, batches with their rows, and what a merchant may send in a day.
package transfer

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/collect/scanning"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Config holds the package's settings. The comments say what a nil or zero field means.
type Config struct {
	Accounts *party.Service
	Events   *recording.Service
	Messages *messaging.Service
	QRCodes  *scanning.Service
	// SingleUse makes a one-time code good for one payout. Otherwise a code is good for 10
	// minutes.
	SingleUse bool
	// Rail takes the transfers of live mode. Without one, live mode pays wallets only.
	Rail provider.Rail
	// TestRail takes those of test mode; [provider.Simulated] when nil.
	TestRail provider.Rail
	// Banks lists the banks that can receive transfers; [provider.SampleBanks] when nil.
	Banks provider.BankDirectory
	// Fees are the fees of external transfers; [payout.DefaultFees] when nil.
	Fees *payout.Fees
	// PayoutLimits default to GHS 1.00 to 20,000.00 and 50,000.00 a day,
	// DisbursementLimits to GHS 0.01 to 20,000.00.
	PayoutLimits, DisbursementLimits payout.Limits
	// NameMatch compares names for transfers that require it; [payout.DefaultNameMatch] when nil.
	NameMatch payout.NameMatch
	// NameQuota bounds lookups of names for each merchant and mode.
	NameQuota payout.NameQuota
}

// Service makes transfers, and applies their results. Payouts and disbursements share it.
type Service struct {
	engine *engine.Engine
	config Config
	limits map[*Variant]bounds
	totals map[*Variant]*totals.Service[record]
	orders map[*Variant]*Orders
}

// New returns the service. It refuses an inconsistent configuration.
func New(e *engine.Engine, c Config) (*Service, error) {
	if c.TestRail == nil {
		c.TestRail = provider.Simulated{}
	}
	if c.Banks == nil {
		c.Banks = provider.SampleBanks()
	}
	if c.Fees == nil {
		c.Fees = payout.DefaultFees()
	}
	if c.NameMatch == nil {
		c.NameMatch = payout.DefaultNameMatch
	}
	c.NameQuota = quotaOrDefault(c.NameQuota)
	for name, f := range map[string]payout.Fee{"Fees.MobileMoney": c.Fees.MobileMoney, "Fees.BankTransfer": c.Fees.BankTransfer} {
		if err := fee.Fee(f).Check(name); err != nil {
			return nil, err
		}
	}
	s := &Service{engine: e, config: c, limits: map[*Variant]bounds{}, totals: map[*Variant]*totals.Service[record]{}, orders: map[*Variant]*Orders{}}
	for _, v := range variants {
		s.totals[v], s.orders[v] = totals.New(collection(v), asEnded), newOrders(s, v)
	}
	if !c.DisbursementLimits.Daily.IsZero() {
		return nil, api.Invalid("DisbursementLimits", "DisbursementLimits: disbursements have no daily limit. Leave Daily zero.")
	}
	var err error
	if s.limits[Payout], err = newBounds(c.PayoutLimits, "PayoutLimits", minPayout, dailyPayouts); err != nil {
		return nil, err
	}
	if s.limits[Disbursement], err = newBounds(c.DisbursementLimits, "DisbursementLimits", minDisbursement, 0); err != nil {
		return nil, err
	}
	return s, nil
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	kinds := []*storage.Kind{dailyTotals.Kind(), otps.Kind(), nameCounts.Kind()}
	for _, v := range variants {
		kinds = append(kinds, collection(v).Kind())
	}
	return append(kinds, batches.Kind(), rows.Kind())
}
