package paymentstest

import (
	"regexp"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// Work does all that is due: it submits transfers, delivers webhooks, sends
// messages, tells subscribers.
func (s *Shop) Work() {
	s.tb.Helper()
	s.check(s.Drain(s.tb.Context()))
}

// Advance moves the merchant's test clock forward, does the work that became due, and returns the
// clock's new time.
func (s *Shop) Advance(by time.Duration) time.Time {
	s.tb.Helper()
	now, err := s.MoveClock(s.tb.Context(), s.Caller, payments.ClockParams{By: by})
	s.check(err)
	s.Work() // MoveClock waits for two seconds and no longer
	return now.Time
}

// digits is how a one-time code stands in its message.
var digits = regexp.MustCompile(`\b[0-9]{6}\b`)

// OTP requests a one-time code for payouts, reads it from the merchant's SMS,
// verifies it, and returns it. It is good for 10 minutes.
func (s *Shop) OTP() string {
	s.tb.Helper()
	ctx := s.tb.Context()
	_, err := s.Payouts.RequestOTP(ctx, s.Caller, payout.ForPayout)
	s.check(err)
	list, err := s.Messages.List(ctx, s.Caller, message.ListParams{Kind: message.KindSMS, Page: api.Page{Limit: 1}})
	s.check(err)
	code := ""
	if len(list.Data) == 1 {
		code = digits.FindString(list.Data[0].Text)
	}
	if code == "" {
		s.tb.Fatal("paymentstest: the newest SMS holds no one-time code")
	}
	_, err = s.Payouts.VerifyOTP(ctx, s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: code})
	s.check(err)
	return code
}

// Sent returns the newest messages to a phone number or e-mail address, newest first, at most 100.
func (s *Shop) Sent(to string) []message.Message {
	s.tb.Helper()
	list, err := s.Messages.List(s.tb.Context(), s.Caller, message.ListParams{To: to, Page: api.Page{Limit: api.MaxLimit}})
	s.check(err)
	return list.Data
}

// Settle plays the rail: it ends a payout or disbursement with the result, and returns it. The
// result has the outcome provider.Paid, or provider.Refused and a Reason. Transfers to numbers that
// end in 0903 wait for Settle. With provider.Reversed the rail takes back a transfer that it has paid.
func (s *Shop) Settle(id string, result provider.Result) *payout.Transfer {
	s.tb.Helper()
	s.check(s.Providers.Settle(s.tb.Context(), s.Caller, id, result))
	settled, err := s.Payouts.Get(s.tb.Context(), s.Caller, id)
	if api.CodeOf(err) == api.ResourceMissing {
		settled, err = s.Disbursements.Get(s.tb.Context(), s.Caller, id)
	}
	s.check(err)
	return settled
}

// PaySession pays a checkout session: from the phone with this number, or, if number is empty, from the
// wallet of the shop's consumer. From a phone, Work completes the session. The last digits of the number
// decide the outcome; see [provider.Simulated].
func (s *Shop) PaySession(id, number string) *checkout.Session {
	s.tb.Helper()
	p := checkout.PayParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}
	if number != "" {
		p = checkout.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}
	}
	paid, err := s.Checkout.Pay(s.tb.Context(), s.Caller, id, p)
	s.check(err)
	return paid
}

// SettlePayment plays the charger: it ends a payment from a phone with the result, and returns it.
// Payments from numbers that end in 0903 wait for SettlePayment. A pending payment is submitted
// first.
func (s *Shop) SettlePayment(id string, result provider.Result) *payment.Payment {
	s.tb.Helper()
	s.check(s.Providers.Settle(s.tb.Context(), s.Caller, id, result))
	settled, err := s.Payments.Get(s.tb.Context(), s.Caller, id)
	s.check(err)
	return settled
}
