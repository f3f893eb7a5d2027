package subscription_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// code returns the last code that was sent to a number.
func (c *club) code(to string) string {
	c.t.Helper()
	list := must.Get(c.Messages.List(c.t.Context(), c.Caller, message.ListParams{To: to}))(c.t)
	for _, m := range list.Data {
		if digits := regexp.MustCompile(`^\d{6}`).FindString(m.Text); digits != "" {
			return digits
		}
	}
	c.t.Fatal("no code was sent to", to)
	return ""
}

func wrong(code string) string {
	return strings.Map(func(r rune) rune { return '0' + (r-'0'+1)%10 }, code)
}

func TestCodeConfirmsNewPhone(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241230901")
	c.told()
	start := func(number string) error {
		return testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: number}))
	}
	confirm := func(code string) error {
		return testkit.Err(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, code))
	}
	testkit.WantCode(t, "a code before any was sent", confirm("123456"), api.OTPInvalid)
	testkit.WantParam(t, "no number", start(""), api.ParameterMissing, "phone_number")
	must.Do(t, start("0551234987"))
	h := must.Get(c.Subscriptions.Hosted(t.Context(), (*made.ManageURL)[strings.LastIndex(*made.ManageURL, "/")+1:]))(t)
	expect.Equal(t, h.PhoneChange.PhoneNumber, "055****987", "phone number of the phone change")
	expect.True(t, h.PhoneChange.ExpiresAt.Equal(c.Now().Add(10*time.Minute)), "waiting %+v", h.PhoneChange)
	old := c.code("0551234987")
	must.Do(t, start("0551234986"))
	code := c.code("0551234986")
	testkit.WantParam(t, "no code", confirm("12345"), api.ParameterInvalid, "code")
	if old != code {
		testkit.WantCode(t, "the code of another number", confirm(old), api.OTPInvalid)
	}
	expect.Equal(t, *c.get(made.ID).PhoneNumber, "024****901", "the number")
	is := must.Get(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, code))(t)
	expect.Equal(t, *is.PhoneNumber, "055****986", "the number")
	c.wantTold("updated past_due")
	testkit.WantCode(t, "the code again", confirm(code), api.OTPInvalid)
	c.pass(day) // the open invoice is charged from the new phone
	expect.Equal(t, c.invoice(*made.LatestInvoice).Status, invoice.Paid, "the invoice")
}

func TestWrongCodesAreCounted(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{}), "0241234567")
	confirm := func(code string) error {
		return testkit.Err(c.Subscriptions.ConfirmPhone(t.Context(), c.Caller, made.ID, code))
	}
	start := func() string {
		must.Get(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
		return c.code("0551234987")
	}
	code := start()
	c.Pass(10 * time.Minute)
	testkit.WantCode(t, "a late code", confirm(code), api.OTPExpired)
	code = start()
	var guesses sync.WaitGroup
	for range 20 {
		guesses.Go(func() { _ = confirm(wrong(code)) })
	}
	guesses.Wait()
	testkit.WantCode(t, "the right code after five wrong ones", confirm(code), api.OTPAttemptsExceeded)
	for range 19 {
		code = start()
		for range 5 {
			testkit.WantCode(t, "a wrong code", confirm(wrong(code)), api.OTPInvalid)
		}
	}
	testkit.WantCode(t, "a code after a hundred wrong ones", testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"})), api.OTPAttemptsExceeded)
	c.Pass(10 * time.Minute)
	for range 100 {
		code = start()
	}
	testkit.WantCode(t, "code 101 in ten minutes", testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"})), api.RateLimited)
	must.Do(t, confirm(code))
}

func TestHostedShowsNextInvoice(t *testing.T) {
	c := openClub(t, payments.Config{})
	made := c.subscribe(c.plan(700, weekly("Gold")), subscription.CreateParams{})
	token := (*made.ManageURL)[strings.LastIndex(*made.ManageURL, "/")+1:]
	h := must.Get(c.Subscriptions.Hosted(t.Context(), token))(t)
	expect.Same(t, h.Next, &subscription.NextInvoice{At: made.CurrentPeriodEnd, Total: 700}, "the next invoice")
	expect.Equal(t, h.PlanName, "Gold", "hosted: plan name")
	expect.Equal(t, h.Interval, catalog.Week, "hosted: interval")
	expect.Equal(t, h.IntervalCount, 1, "hosted: interval count")
	expect.Equal(t, h.Merchant.Name, "Adom Juice Bar", "hosted: name of the merchant")
	expect.Equal(t, h.Caller.Merchant, c.Caller.Merchant, "hosted: merchant of the caller")
	expect.Equal(t, h.Subscription.ID, made.ID, "hosted: ID of the subscription")
	must.Get(c.Subscriptions.Cancel(t.Context(), h.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	h = must.Get(c.Subscriptions.Hosted(t.Context(), token))(t)
	expect.True(t, h.Next == nil, "an invoice after the end: %+v", h.Next)
	testkit.WantCode(t, "an unknown secret", testkit.Err(c.Subscriptions.Hosted(t.Context(), "x")), api.ResourceMissing)
}

// phones is a Texter that notes what it sends.
type phones struct {
	mu   sync.Mutex
	sent []message.SMS
}

func (p *phones) SendSMS(_ context.Context, m message.SMS) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	return nil
}

// take returns the texts that ask the customer's phone, and forgets all.
func (p *phones) take(to string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var texts []string
	for _, m := range p.sent {
		if m.To == to && strings.Contains(m.Text, "will ask this phone") {
			texts = append(texts, shortLink.ReplaceAllString(m.Text, "$1/x"))
		}
	}
	p.sent = nil
	return texts
}

// liveClub is a club in live mode.
func liveClub(t *testing.T, texter *phones, config payments.Config) *club {
	t.Helper()
	config.Live = payments.Providers{Charger: provider.Simulated{}, Texter: texter}
	c := openClubOn(t, memory.New(), config)
	c.Caller.Live = true
	return c
}

// The codes that are sent to one number are counted over all subscriptions and merchants, in live mode.
func TestCodesToOneNumber(t *testing.T) {
	c := liveClub(t, &phones{}, payments.Config{})
	plan := c.plan(5000, catalog.CreatePlanParams{})
	start := func(number string) error {
		made := c.subscribe(plan, subscription.CreateParams{})
		return testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: number}))
	}
	for range 3 {
		must.Do(t, start("0551234987"))
	}
	c.Pass(time.Minute)
	m := must.Get(c.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Second"}))(t)
	c.Caller.Merchant = m.ID
	plan = c.plan(5000, catalog.CreatePlanParams{})
	for range 2 {
		must.Do(t, start("0551234987"))
	}
	err := start("055 123 4987")
	var refusal *api.Error
	must.True(t, errors.As(err, &refusal), "a sixth code is answered %v", err)
	expect.Equal(t, refusal.Code, api.RateLimited, "refused: code")
	expect.Equal(t, refusal.RetryAfter, 9*time.Minute, "refused: retry after")
	must.Do(t, start("0551234986"))
	c.Pass(9 * time.Minute)
	for range 3 {
		must.Do(t, start("0551234987"))
	}
	testkit.WantCode(t, "a ninth code", start("0551234987"), api.RateLimited)

	// One address on pages leaves codes of the number to others.
	onPage := func(address string) error {
		made := c.subscribe(plan, subscription.CreateParams{})
		return testkit.Err(c.Subscriptions.StartPhoneChange(t.Context(), c.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234985", From: address}))
	}
	for range 4 {
		must.Do(t, onPage("192.0.2.7"))
	}
	testkit.WantCode(t, "a fifth code for one address", onPage("192.0.2.7"), api.RateLimited)
	must.Do(t, onPage("192.0.2.8"))
	testkit.WantCode(t, "a sixth code", onPage("192.0.2.8"), api.RateLimited)

	sandbox := openClub(t, payments.Config{})
	plan = sandbox.plan(5000, catalog.CreatePlanParams{})
	for range 6 { // no SMS goes out
		made := sandbox.subscribe(plan, subscription.CreateParams{})
		must.Get(sandbox.Subscriptions.StartPhoneChange(t.Context(), sandbox.Caller, made.ID, subscription.StartPhoneChangeParams{PhoneNumber: "0551234987"}))(t)
	}
}

// In live mode an SMS announces each charge a day before. Both are by day.
func TestSMSAnnouncesAutomaticCharge(t *testing.T) {
	texter := &phones{}
	c := liveClub(t, texter, payments.Config{})
	c.Pass(9 * time.Hour) // 21 o'clock
	made := c.automatic(c.plan(5000, catalog.CreatePlanParams{Interval: catalog.Week}), "0241234567")
	c.pass(11 * time.Hour) // 8 o'clock
	expect.Equal(t, c.invoice(*made.LatestInvoice).Status, invoice.Paid, "the first invoice")
	sent := texter.take("+233241234567")
	expect.Equal(t, len(sent), 0, "SMS about the first charge")
	c.passTo(made.CurrentPeriodEnd - 13*3600 - 1)
	expect.Equal(t, len(texter.take("+233241234567")), 0, "SMS a second too soon")
	c.pass(time.Second)
	expect.Same(t, texter.take("+233241234567"), []string{"On 14 March Adom Juice Bar will ask this phone to pay GHS 50.00 for Gold. See or cancel it: /s/x"}, "the SMS")
	c.passTo(made.CurrentPeriodEnd + 11*3600)
	expect.Equal(t, c.invoices(made.ID)[1].Status, invoice.Paid, "the second invoice")
	must.Get(c.Subscriptions.Cancel(t.Context(), c.Caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
	texter.take("")
	c.pass(14 * day)
	expect.Equal(t, len(texter.take("+233241234567")), 0, "SMS about a charge that will not be")

	texter = &phones{}
	quiet := liveClub(t, texter, payments.Config{NoChargeNotice: true})
	quiet.automatic(quiet.plan(5000, catalog.CreatePlanParams{Interval: catalog.Week}), "0241234567")
	quiet.pass(7 * day)
	expect.Equal(t, len(texter.take("+233241234567")), 0, "SMS that were turned off")
}

// directory is a host's own record of customers.
type directory struct {
	mu    sync.Mutex
	known map[string]account.Customer
	err   error
	asked int
	// during is called by each question; may be nil.
	during func(context.Context) error
}

func (d *directory) Customer(ctx context.Context, _ api.Caller, id string) (*account.Customer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.during != nil {
		if err := d.during(ctx); err != nil {
			return nil, err
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	c, ok := d.known[id]
	if !ok {
		return nil, api.NoSuch("customer")
	}
	return &c, nil
}

// The customer's data on each invoice is that of the host's directory at that time. A renewal waits for a
// directory that fails, and a customer whom the host no longer knows is billed no more.
func TestRenewalAsksHostsDirectory(t *testing.T) {
	d := &directory{known: map[string]account.Customer{"host_1": {ID: "host_1", Name: "Yaw", Phone: "0241234567"}}}
	c := openClub(t, payments.Config{Customers: d})
	made := c.subscribe(c.plan(5000, weekly("Gold")), subscription.CreateParams{Customer: "host_1"})
	d.known["host_1"] = account.Customer{ID: "host_1", Name: "Yaw Boateng"}
	before := d.asked
	c.pass(6 * day)
	expect.Equal(t, d.asked, before, "questions while nothing is due")
	d.err = context.DeadlineExceeded
	c.pass(day)
	expect.Equal(t, len(c.invoices(made.ID)), 1, "invoices while the directory fails")
	d.err = nil
	c.pass(time.Minute)
	all := c.invoices(made.ID)
	must.True(t, len(all) == 2, "%d invoices", len(all))
	expect.Same(t, all[0].Name, new("Yaw"), "name of the first")
	expect.Same(t, all[1].Name, new("Yaw Boateng"), "name of the second")
	expect.Equal(t, all[1].InvoiceDate.Unix(), made.CurrentPeriodEnd, "invoice date of the second")
	delete(d.known, "host_1")
	c.pass(7 * day)
	expect.Equal(t, c.get(made.ID).Status, subscription.Cancelled, "of a customer who is unknown")
}
