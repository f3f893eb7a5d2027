package inspector

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// sandbox is what test mode has and live mode has not: consumers who do as one
// likes, a clock, and a rail and a charger with a table each.
func (v *visit) sandbox() (*page, error) {
	now, err := v.svc.Now(v.Context(), v.caller)
	if err != nil {
		return nil, err
	}
	consumers, err := v.consumers()
	if err != nil {
		return nil, err
	}
	wallets, err := v.wallets()
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Sandbox", NavPath: "sandbox",
		Forms: []*form{
			{
				Name: "scan", Title: "Play a consumer who scans", Button: "Pay",
				Fields: append([]field{
					{Name: "code", Label: "QR code", Required: true, Hint: "Its ID (qr_…) or what it holds (the address of the payment page)."},
					{Name: "amount", Label: "Amount in GHS", Hint: "Empty where the code has one."},
				}, payer(wallets)...),
				do: (*visit).playScan,
			},
			{
				Name: "show", Title: "Play a consumer who shows a code", Button: "Make the code",
				Fields: []field{
					{Name: "account_id", Label: "Account of the consumer", Kind: "select", Options: consumers.accounts},
					{Name: "type", Label: "Type", Kind: "select", Options: options("static", "dynamic")},
					{Name: "amount", Label: "Amount in GHS", Hint: "Empty lets the merchant say."},
				},
				do: (*visit).showCode,
			},
			{
				Name: "consumer", Title: "New consumer", Button: "Make the consumer",
				Fields: []field{
					{Name: "name", Label: "Name", Required: true},
					{Name: "phone_number", Label: "Phone number", Required: true},
					{Name: "pin", Label: "PIN of 4 to 6 digits", Required: true},
					{Name: "balance", Label: "Money in the wallet, in GHS", Value: "500.00"},
				},
				do: (*visit).createConsumer,
			},
			{
				Name: "move-clock", Title: "Move the test clock", Button: "Move it forward", Hint: "It never goes back.",
				Fields: []field{
					{Name: "advance", Label: "By how much", Kind: "number", Required: true, Value: "1"},
					{Name: "unit", Label: "Unit", Kind: "select", Value: "hours", Options: options("seconds", "minutes", "hours", "days")},
				},
				do: (*visit).moveClock,
			},
		},
		Static: []section{{Title: "Test clock", Facts: []fact{{Name: "It shows", Value: formatTime(now)}}}},
		Live: []section{
			{Title: "Consumers", Rows: consumers.rows, Empty: "There is no consumer yet."},
			{
				Title: "Simulated rail", Text: "Unless the host has put a rail of its own into test mode, payouts and disbursements end as the number says.",
				Table: caseTable("What the simulated rail does, by the last digits of the number", provider.Simulated{}.Cases()),
			},
			{
				Title: "Simulated charger", Text: "Unless the host has put a charger of its own into test mode, payments from a phone end as its number says.",
				Table: caseTable("What the simulated charger does, by the last digits of the payer's phone number", provider.Simulated{}.ChargeCases()),
			},
		},
		NextPage: consumers.nextPage,
	}, nil
}

// caseTable shows what the simulated provider does.
func caseTable(caption string, cases []provider.SimulatedCase) *table {
	t := &table{Caption: caption, Head: []string{"Digits", "Answer"}}
	for _, c := range cases {
		t.Rows = append(t.Rows, []string{c.Digits, c.Answer})
	}
	return t
}

// consumerList are consumers as rows and as choices.
type consumerList struct {
	rows     []row
	accounts []option
	nextPage string
}

func (v *visit) consumers() (*consumerList, error) {
	list, err := v.svc.Accounts.ListConsumers(v.Context(), api.Caller{Live: v.caller.Live}, v.page())
	if err != nil {
		return nil, err
	}
	found := &consumerList{nextPage: nextPage(v, list, func(c *account.Consumer) string { return c.ID })}
	for i := range list.Data {
		c := &list.Data[i]
		balance, err := v.svc.Accounts.WalletBalance(v.Context(), api.Caller{Live: v.caller.Live}, c.ID)
		if err != nil {
			return nil, err
		}
		found.rows = append(found.rows, row{
			Title: c.Name, Detail: joinNonEmpty(c.Phone, c.ServiceID, c.ID), Amount: formatGHS(balance), State: string(c.Status), At: c.CreatedAt,
		})
		found.accounts = append(found.accounts, option{c.ID, c.Name + ", " + c.Phone})
	}
	return found, nil
}

func (v *visit) playScan(in *input) (*result, error) {
	code := in.text("code")
	code = code[strings.LastIndex(code, "/")+1:]
	return v.scan(in, code)
}

// maxPayload is the longest payload that is drawn, in characters.
const maxPayload = 1000

func (v *visit) showCode(in *input) (*result, error) {
	p := qrcode.IssueConsumerCodeParams{Account: in.text("account_id"), Type: qrcode.Type(in.text("type")), Amount: in.ghs("amount")}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.QRCodes.IssueConsumerCode(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	s := &section{
		Title: "The consumer's code", Text: "Enter the payload under disbursements, or send it to /v1/qr_codes/resolve or /v1/disbursements/qr as qr_payload.",
		Facts: []fact{{Name: "Payload", Value: c.Payload, Code: true, Wide: true}},
	}
	if len(c.Payload) <= maxPayload {
		s.Picture = v.url("sandbox", base64.RawURLEncoding.EncodeToString([]byte(c.Payload)), "code.png")
		s.PictureText = "QR code that the consumer shows"
	}
	return &result{showOnce: s}, nil
}

// consumerPicture draws the payload that is in the path.
func (v *visit) consumerPicture() (*file, error) {
	payload, err := base64.RawURLEncoding.DecodeString(v.id)
	if err != nil || len(payload) > maxPayload {
		return nil, errNoPage
	}
	data, err := qrcode.Draw(string(payload), qrcode.PNG, qrcode.DefaultSize)
	if err != nil {
		return nil, errNoPage
	}
	return &file{contentType: "image/png", data: data}, nil
}

func (v *visit) createConsumer(in *input) (*result, error) {
	balance := in.ghs("balance")
	if balance != nil && !balance.IsZero() {
		if _, err := check.Amount("balance", *balance); err != nil {
			return nil, err
		}
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.Accounts.CreateConsumer(v.Context(), api.Caller{Live: v.caller.Live, IdempotencyKey: v.caller.IdempotencyKey}, account.CreateHolderParams{Name: in.text("name"), Phone: in.text("phone_number"), PIN: in.text("pin")})
	if err != nil || balance == nil || balance.IsZero() {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), api.Caller{Live: v.caller.Live, IdempotencyKey: v.caller.IdempotencyKey + "-balance"}, account.DepositParams{
		To: c.ID, Amount: *balance, Source: "test",
	})
}

func (v *visit) moveClock(in *input) (*result, error) {
	units := map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour}
	unit, n := units[in.text("unit")], in.integer("advance")
	if err := in.err(); err != nil {
		return nil, err
	}
	const century = 100 * 365 * 24 * time.Hour // more would overflow a duration
	if n == nil || unit == 0 || *n < 0 || *n > int64(century/unit) {
		return nil, api.Invalid("advance", "Enter a whole number, not negative, and at most 100 years.")
	}
	_, err := v.svc.MoveClock(v.Context(), v.caller, payments.ClockParams{By: time.Duration(*n) * unit})
	return nil, err
}
