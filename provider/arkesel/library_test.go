package arkesel_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider/arkesel/arkeseltest"
	"github.com/seed-7082ffec/payments/provider/smstest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Behind the library: a one-time code arrives although two requests fail, twice if its answer gets
// lost, and never at a number that does not exist. The log has neither number nor code.
func TestBehindTheLibrary(t *testing.T) {
	fake := arkeseltest.New(1)
	var log bytes.Buffer
	now := time.Now()
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live: payments.Providers{Texter: gateway.Client(t, fake, "")}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Clock: func() time.Time { return now }, Serial: true,
	}))(t)
	codes := func(phone string, lose ...func()) []smstest.Message {
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: phone}))(t)
		for _, fault := range lose {
			fault()
		}
		before := len(fake.Messages())
		must.Get(svc.Payouts.RequestOTP(t.Context(), api.Caller{Merchant: m.ID, Live: true}, payout.ForPayout))(t)
		for range 12 {
			must.Do(t, svc.Drain(t.Context()))
			now = now.Add(12 * time.Hour)
		}
		return fake.Messages()[before:]
	}
	arrived := codes("0241234567", fake.LoseRequest, fake.LoseRequest)
	must.True(t, len(arrived) == 1, "arrived %+v", arrived)
	code := regexp.MustCompile(`\b[0-9]{6}\b`).FindString(arrived[0].Text)
	expect.True(t, arrived[0].Sender == "Volta" && arrived[0].To == "233241234567" && code != "", "%+v", arrived[0])
	twice := codes("0241234568", fake.LoseAnswer)
	expect.True(t, len(twice) == 2 && twice[0] == twice[1], "%+v", twice)
	expect.Equal(t, len(codes("02412345"+smstest.BadNumber)), 0, "messages to no number")
	expect.Equal(t, strings.Count(log.String(), "outcome=given_up attempt=1"), 1, "messages given up in\n%s", log.String())
	for _, secret := range []string{"24123456", "24123450", code, arkeseltest.APIKey} {
		expect.True(t, !strings.Contains(log.String(), secret), "the log tells too much\n%s", log.String())
	}
}
