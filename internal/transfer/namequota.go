package transfer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

func quotaOrDefault(q payout.NameQuota) payout.NameQuota {
	return payout.NameQuota{Hour: cmp.Or(q.Hour, payout.DefaultNameQuota.Hour), Day: cmp.Or(q.Day, payout.DefaultNameQuota.Day)}
}

// nameCount counts a merchant's lookups of names in the hour and the day of the last one. Its id
// is nameCountID.
type nameCount struct {
	Last   api.Time `json:"last"`
	InHour int      `json:"in_hour"`
	InDay  int      `json:"in_day"`
}

const nameCountID = "account_names"

var nameCounts = storage.NewCollection[nameCount]("name_lookups", nil)

// countNameLookup counts a lookup before the call of the rail, so that one with a lost answer
// counts too. It refuses one beyond the quota with rate_limited, and does not count it.
func (s *Payouts) countNameLookup(ctx context.Context, caller api.Caller) error {
	quota := s.config.NameQuota
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		found, err := nameCounts.GetOrNew(tx, engine.Scope(caller), nameCountID)
		if err != nil {
			return fmt.Errorf("payout: read the quota of names: %w", err)
		}
		c, now := &found.Value, tx.Now.UTC()
		hour, day := now.Truncate(time.Hour), now.Truncate(24*time.Hour)
		if c.Last.Before(hour) {
			c.InHour = 0
		}
		if c.Last.Before(day) {
			c.InDay = 0
		}
		switch {
		case quota.Day >= 0 && c.InDay >= quota.Day:
			return errTooManyNames("day", day.Add(24*time.Hour).Sub(now))
		case quota.Hour >= 0 && c.InHour >= quota.Hour:
			return errTooManyNames("hour", hour.Add(time.Hour).Sub(now))
		}
		c.Last, c.InHour, c.InDay = api.At(now), c.InHour+1, c.InDay+1
		return nameCounts.Put(tx, found)
	})
}

func errTooManyNames(period string, wait time.Duration) error {
	return api.Errorf(api.RateLimited, "", "Too many names of accounts were looked up in this %s. Try again in the next one, or go on without the name.", period).After(wait)
}
