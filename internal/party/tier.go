package party

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

func checkTier(t account.Tier) error {
	switch t {
	case "", account.TierMinimum, account.TierMedium, account.TierEnhanced:
		return nil
	}
	return api.Invalid("tier", "tier must be minimum, medium or enhanced.")
}
