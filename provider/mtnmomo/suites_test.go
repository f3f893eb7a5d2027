package mtnmomo_test

import (
	"net/http/httptest"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/chargertest"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
	"github.com/seed-7082ffec/payments/provider/railtest"
)

var (
	_ provider.Rail         = (*mtnmomo.Client)(nil)
	_ provider.Checker      = (*mtnmomo.Client)(nil)
	_ provider.NameEnquirer = (*mtnmomo.Client)(nil)
	_ provider.Charger      = (*mtnmomo.Client)(nil)
	_ provider.RefundRail   = (*mtnmomo.Client)(nil)
)

// overHTTP has the rig's client call the fake over a connection.
func (r *rig) overHTTP(t *testing.T) *rig {
	server := httptest.NewServer(r.Fake)
	t.Cleanup(server.Close)
	r.config.BaseURL, r.config.HTTPClient = server.URL, server.Client()
	r.client = must.Get(mtnmomo.New(r.config))(t)
	return r
}

var modes = map[string]func(t *testing.T) *rig{
	"described": func(t *testing.T) *rig { return newRig(t, 1) },
	"over HTTP": func(t *testing.T) *rig { return newRig(t, 1).overHTTP(t) },
}

func TestRail(t *testing.T) {
	for mode, open := range modes {
		t.Run(mode, func(t *testing.T) {
			railtest.Run(t, func(t *testing.T) railtest.Rig {
				r := open(t)
				to := func(last string) railtest.Destination {
					return railtest.Destination{Channel: provider.MobileMoney, Network: "mtn", Number: "+233241234" + last}
				}
				return railtest.Rig{
					Rail: r.client, Paid: to("567"), Refused: to("457"), Slow: to("453"), Name: mtnmomotest.Name, Moved: r.Moved,
					Received: func(id string) (decimal.Decimal, string) {
						amount, number, _ := r.Received(id)
						return api.FromPesewas(amount).Decimal, number
					},
					LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
				}
			})
		})
	}
}

func TestCharger(t *testing.T) {
	for mode, open := range modes {
		t.Run(mode, func(t *testing.T) {
			chargertest.Run(t, func(t *testing.T) chargertest.Rig {
				r := open(t)
				payer := func(last string) chargertest.Payer {
					return chargertest.Payer{Phone: "+233241234" + last, Network: "mtn"}
				}
				return chargertest.Rig{
					Charger: r.client, Paid: payer("567"), Refused: payer("451"), Slow: payer("453"),
					RefundRefused: payer("470"), RefundSlow: payer("471"), Secrets: secrets, Moved: r.Moved,
					Received: func(id string) decimal.Decimal {
						amount, _, _ := r.Received(id)
						return api.FromPesewas(amount).Decimal
					},
					LoseRequest: r.LoseRequest, LoseAnswer: r.LoseAnswer,
				}
			})
		})
	}
}
