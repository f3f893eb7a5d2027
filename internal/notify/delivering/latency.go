package delivering

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// latencyLimits are the upper bounds of the latency classes. Slower deliveries are in one more class, the last.
var latencyLimits = [...]time.Duration{time.Second, 5 * time.Second, time.Minute, time.Hour}

// countDelivery counts a delivery that has ended by an attempt.
func countDelivery(l *webhook.DayLatency, d *webhook.Delivery) {
	if d.Status == webhook.Failed {
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

func addLatency(l *webhook.DayLatency, more *webhook.DayLatency) {
	for i, n := range more.Delivered {
		l.Delivered[i] += n
	}
	l.Failed += more.Failed
}

// latencies has a record for each merchant, mode and day. The id is the day.
var latencies = storage.NewCollection[webhook.DayLatency]("webhook_latencies", nil)

// ended counts the deliveries that end in one transaction, which then writes each record once.
type ended map[latencyKey]*webhook.DayLatency

type latencyKey struct {
	scope storage.Scope
	day   string
}

// count counts a delivery that an attempt has ended. It skips a pending one.
func (e ended) count(scope storage.Scope, d *webhook.Delivery) {
	if d.Status == webhook.Pending {
		return
	}
	key := latencyKey{scope, d.CreatedAt.UTC().Format(time.DateOnly)}
	if e[key] == nil {
		e[key] = &webhook.DayLatency{}
	}
	countDelivery(e[key], d)
}

func (e ended) write(tx storage.Tx) error {
	for key, more := range e {
		o, err := latencies.GetOrNew(tx, key.scope, key.day)
		if err == nil {
			addLatency(&o.Value, more)
			err = latencies.Put(tx, o)
		}
		if err != nil {
			return fmt.Errorf("webhook: count deliveries: %w", err)
		}
	}
	return nil
}

func (s *Service) DailyLatencies(ctx context.Context, caller api.Caller, period api.Times) ([]webhook.DayLatency, error) {
	const day, most = 24 * time.Hour, 366
	from := period.From.UTC().Truncate(day)
	n := int((period.Until.Sub(from) + day - 1) / day)
	if period.From.IsZero() || n < 1 || n > most {
		return nil, api.Invalid("period", "A period of daily latencies has a begin and a later end, and at most %d days.", most)
	}
	days := make([]webhook.DayLatency, n)
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
					addLatency(&days[i], &o.Value)
				}
			}
		}
		return nil
	})
	return days, err
}
