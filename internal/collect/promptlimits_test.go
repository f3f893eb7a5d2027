package collect

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A prompt that was counted and never sent does not count, also that of a scheduled charge. One that was sent
// does.
func TestUnsentPromptsDoNotCount(t *testing.T) {
	for _, by := range []asker{{}, {automatic: true}} {
		for _, sent := range []bool{false, true} {
			now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
			store := memory.New()
			must.Do(t, store.Define(t.Context(), append(engine.Kinds(), Kinds()...)...))
			s := &Service{
				engine: &engine.Engine{Store: store, Clock: func() time.Time { return now }, ServerKeys: [][]byte{make([]byte, 32)}},
				config: Config{Prompts: payment.DefaultPromptLimits},
			}
			ask := func() error {
				return s.engine.Update(t.Context(), api.Caller{Live: true}, func(tx *engine.Tx) error {
					return s.countPrompt(tx, "+233241234567", "pay_1", now.Add(time.Hour), by)
				})
			}
			end := func() error {
				counted := now
				if sent {
					counted = time.Time{}
				}
				return s.engine.Update(t.Context(), api.Caller{Live: true}, func(tx *engine.Tx) error {
					return s.endPrompt(tx, "+233241234567", "pay_1", counted)
				})
			}
			for range payment.DefaultPromptLimits.Recent {
				now = now.Add(time.Minute)
				must.Do(t, ask())
				must.Do(t, end())
			}
			now = now.Add(time.Minute)
			expect.Equal(t, api.CodeOf(ask()) == api.TooManyPrompts, sent, "one more is refused, asked by %+v, sent %t", by, sent)
		}
	}
}

// The limits of a page stay below those of the phone as far as there is room, and never turn into no limit. A host
// that turns a limit off turns off that of pages, too.
func TestLimitsOfPages(t *testing.T) {
	for phone, page := range map[payment.PromptLimits]payment.PromptLimits{
		payment.DefaultPromptLimits: {Recent: 2, Day: 10},
		{Recent: 1, Day: 1}:         {Recent: 1, Day: 1},
		{Recent: -1, Day: 5}:        {Recent: -1, Day: 2},
		{Recent: 2, Day: -1}:        {Recent: 1, Day: -1},
		{Recent: -1, Day: -20}:      {Recent: -1, Day: -20},
	} {
		expect.Equal(t, pageLimits(phone), page, "a page's limits under %+v", phone)
	}
}
