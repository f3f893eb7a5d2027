package collect

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pace"
)

// textLimits bound the SMS about invoices, receipts and subscriptions to one phone, over all merchants.
var textLimits = pace.Limit{Hour: 10, Day: 30}

// textWait is the longest wait of such an SMS. Without it, a flood would leave a phone with months of queued SMS.
const textWait = 3 * 24 * time.Hour

// Text queues an SMS about an invoice, a receipt or a subscription. The merchant causes it, and the phone may be
// a stranger's. So in live mode a phone gets at most 10 of them in an hour and 30 in a day, over all merchants.
// Text delays the others, and drops one that would wait more than three days. person is as for
// [messaging.Service.Text].
func (s *Service) Text(tx *engine.Tx, person, to, text string) error {
	if to == "" || !s.config.Messages.CanText(tx.Caller.Live) {
		return nil
	}
	at := tx.Now
	if tx.Caller.Live {
		o, err := s.promptsOf(tx, textsOut, to)
		if err != nil {
			return err
		}
		p := &o.Value
		wait := max(pace.Wait(p.At, tx.Now, textLimits.Hour, time.Hour), pace.Wait(p.At, tx.Now, textLimits.Day, promptDay))
		if wait > textWait {
			tx.Log().Warn("an SMS was left out, because its phone gets too many", slog.String("merchant", tx.Caller.Merchant))
			return nil
		}
		at = tx.Now.Add(wait)
		p.At = append(p.At[max(0, len(p.At)+1-textLimits.Day):], api.At(at))
		p.Forget = api.At(at.Add(promptDay))
		if err := prompts.Put(tx, o); err != nil {
			return fmt.Errorf("payment: count text: %w", err)
		}
	}
	return s.config.Messages.TextAt(tx, person, to, text, at)
}
