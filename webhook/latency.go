package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// latencyLimits are the most that deliveries of a class take. What takes longer is the last class.
var latencyLimits = [...]time.Duration{time.Second, 5 * time.Second, time.Minute, time.Hour}

// DayLatency says how long the deliveries of a day took until an endpoint accepted them. A delivery
// that is under way counts nowhere.
type DayLatency struct {
	Day time.Time `json:"-"`
	// Delivered counts the deliveries that took at most 1 second, 5 seconds, 1 minute, 1 hour, and
	// longer. Each delivery counts in one of the five.
	Delivered [5]int64 `json:"delivered"`
	Failed    int64    `json:"failed,omitempty"` // given up
}

// count counts a delivery that has ended by an attempt.
func (l *DayLatency) count(d *Delivery) {
	if d.Status == Failed {
		l.Failed++
		return
	}
	took := d.Attempts[len(d.Attempts)-1].At.Sub(d.CreatedAt.Time)
	class := slices.IndexFunc(latencyLimits[:], func(most time.Duration) bool { return took <= most })
	if class < 0 {
		class = len(latencyLimits)
	}
	l.Delivered[class]++
}

func (l *DayLatency) add(more *DayLatency) {
	for i, n := range more.Delivered {
		l.Delivered[i] += n
	}
	l.Failed += more.Failed
}

// latencies has a record for each merchant, mode and day. The id is the day.
var latencies = storage.NewCollection[DayLatency]("webhook_latencies", nil)

// ended counts the deliveries that end in one transaction, which then writes each record once.
type ended map[latencyKey]*DayLatency

type latencyKey struct {
	scope storage.Scope
	day   string
}

// count counts a delivery that an attempt has ended in the transaction; not one that goes on.
func (e ended) count(scope storage.Scope, d *Delivery) {
	if d.Status == Pending {
		return
	}
	key := latencyKey{scope, d.CreatedAt.UTC().Format(time.DateOnly)}
	if e[key] == nil {
		e[key] = &DayLatency{}
	}
	e[key].count(d)
}

func (e ended) write(tx storage.Tx) error {
	for key, more := range e {
		o, err := latencies.GetOrNew(tx, key.scope, key.day)
		if err == nil {
			o.Value.add(more)
			err = latencies.Put(tx, o)
		}
		if err != nil {
			return fmt.Errorf("webhook: count deliveries: %w", err)
		}
	}
	return nil
}

// DailyLatencies returns, for each day of a period, how long the caller's deliveries took that were
// created on that day and have ended. A delivery may take three days, so the figures of a day may change
// for as long. It reads one record a day. Deliveries made by a release without this method are not counted.
//
// Both ends of the period are required, and it has at most 366 days. It is rounded outwards to days in
// UTC.
//
// Refusals: parameter_invalid (period).
func (s *Service) DailyLatencies(ctx context.Context, caller api.Caller, period api.Times) ([]DayLatency, error) {
	const day, most = 24 * time.Hour, 366
	from := period.From.UTC().Truncate(day)
	n := int((period.Until.Sub(from) + day - 1) / day)
	if period.From.IsZero() || n < 1 || n > most {
		return nil, api.Invalid("period", "A period of daily latencies has a begin and a later end, and at most %d days.", most)
	}
	days := make([]DayLatency, n)
	for i := range days {
		days[i].Day = from.AddDate(0, 0, i)
	}
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		before := from.AddDate(0, 0, -1).Format(time.DateOnly)
		page, _, err := latencies.List(tx, storage.Query{Scope: engine.Scope(caller), Before: before, Limit: n})
		if err != nil {
			return fmt.Errorf("webhook: read latencies: %w", err)
		}
		for _, o := range page {
			for i := range days {
				if days[i].Day.Format(time.DateOnly) == o.ID {
					days[i].add(&o.Value)
				}
			}
		}
		return nil
	})
	return days, err
}
