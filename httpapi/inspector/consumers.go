package inspector

import (
	"encoding/base64"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/qrcode"
)

// consumers are the people of test mode, who do as one likes. They belong to no merchant.
var consumerNoun = &noun[account.Consumer]{
	path: "consumers", one: "Test consumer", many: "Test consumers", heads: [5]string{"Consumer", "Wallet", "Status", "Service ID", "Since"},
	empty: "A consumer has a wallet, and pays from it with a PIN.",
	forms: (*visit).consumerForms,
	list: func(v *visit, page api.Page) (*api.List[account.Consumer], error) {
		return v.svc.Accounts.ListConsumers(v.Context(), testCaller, page)
	},
	row: func(v *visit, c *account.Consumer) row {
		balance, err := v.svc.Accounts.WalletBalance(v.Context(), testCaller, c.ID)
		if err != nil {
			v.err = err
		}
		return row{Href: v.url("consumers", c.ID), Title: c.Name, Below: maskedNumber(c.Phone), Amount: balance, Badge: state(c.Status), For: c.ServiceID, At: c.CreatedAt}
	},
	get: func(v *visit) (*account.Consumer, error) {
		return v.svc.Accounts.GetConsumer(v.Context(), testCaller, v.id)
	},
	page: (*visit).consumerPage,
}

// testCaller is the operator in test mode.
var testCaller = api.Caller{Live: false}

func (v *visit) consumerForms() ([]*form, error) {
	wallets, err := v.wallets()
	if err != nil {
		return nil, err
	}
	list, err := v.svc.Accounts.ListConsumers(v.Context(), testCaller, api.Page{Limit: perPage})
	if err != nil {
		return nil, err
	}
	var accounts []option
	for i := range list.Data {
		accounts = append(accounts, option{Value: list.Data[i].ID, Label: list.Data[i].Name + ", " + maskedNumber(list.Data[i].Phone)})
	}
	return []*form{
		{
			Name: "consumer", Title: "Make a consumer", Button: "Make the consumer", Main: true,
			Fields: []field{
				{Name: "name", Label: "Name"},
				{Name: "phone_number", Label: "Phone number", Hint: "Such as 024 123 4567."},
				{Name: "pin", Label: "PIN of 4 to 6 digits"},
				{Name: "balance", Label: "Money in the wallet, in cedis", Value: "500.00", Hint: "In test mode it comes from nowhere."},
			},
			do: (*visit).createConsumer,
		},
		{
			Name: "scan", Title: "Play a consumer who scans", Label: "Scan a code", Button: "Pay",
			Fields: append([]field{
				{Name: "code", Label: "QR code", Hint: "Its ID (qr_…) or what it holds (the address of the payment page)."},
				amountField("amount", "Empty where the code has one."),
			}, payer(wallets)...),
			Will: facts("To", v.merchant.Name), do: (*visit).playScan,
		},
		{
			Name: "show", Title: "Play a consumer who shows a code", Label: "Show a code", Button: "Make the code",
			Fields: []field{
				{Name: "account_id", Label: "Consumer", Kind: "select", Options: accounts},
				{Name: "type", Label: "Type", Kind: "select", Options: options(qrcode.Static, qrcode.Dynamic)},
				amountField("amount", "Empty lets the merchant say."),
			},
			do: (*visit).showCode,
		},
	}, nil
}

func (v *visit) consumerPage(c *account.Consumer, p *page) error {
	balance, err := v.svc.Accounts.WalletBalance(v.Context(), testCaller, c.ID)
	if err != nil {
		return err
	}
	p.Title, p.Badge, p.Sentence = c.Name, state(c.Status), sentence("%s in the wallet", balance)
	s := section{Title: "Messages", Text: "No message was written to this consumer for this merchant's payments yet."}
	if told := v.messageTurns(c.ID, ""); len(told) > 0 {
		s = section{Title: "Messages", Timeline: told}
	}
	p.Live = []section{s}
	p.Side = []section{
		{Title: "Money", Money: facts("In the wallet", balance)},
		{Title: "Details", Facts: facts("Phone", c.Phone, "Tier", words(c.Tier), "Service ID", id(c.ServiceID), "Account", id(c.ID), "Created", c.CreatedAt)},
	}
	return nil
}

func (v *visit) playScan(in *input) (any, error) {
	code := in.text("code")
	return v.scan(in, code[strings.LastIndex(code, "/")+1:])
}

// maxPayload is the longest payload that is drawn, in characters.
const maxPayload = 1000

func (v *visit) showCode(in *input) (any, error) {
	p := qrcode.IssueConsumerCodeParams{Account: in.text("account_id"), Type: qrcode.Type(in.text("type")), Amount: in.ghs("amount")}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.QRCodes.IssueConsumerCode(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	s := &section{
		Panel: true, Title: "The consumer's code", Text: "Enter the payload under disbursements, or send it to /v1/qr_codes/resolve or /v1/disbursements/qr as qr_payload.",
		Facts: facts("Payload", id(c.Payload)),
	}
	if len(c.Payload) <= maxPayload {
		s.Picture = &link{"QR code that the consumer shows", v.url("consumers", base64.RawURLEncoding.EncodeToString([]byte(c.Payload)), "code.png")}
	}
	return s, nil
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

func (v *visit) createConsumer(in *input) (any, error) {
	balance := in.ghs("balance")
	if balance != nil && !balance.IsZero() {
		if _, err := check.Amount("balance", *balance); err != nil {
			return nil, err
		}
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.Accounts.CreateConsumer(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey}, account.CreateHolderParams{Name: in.text("name"), Phone: in.text("phone_number"), PIN: in.text("pin")})
	if err != nil || balance == nil || balance.IsZero() {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey + "-balance"}, account.DepositParams{
		To: c.ID, Amount: *balance, Source: "test",
	})
}
