package inspector

import (
	"cmp"
	"context"
	"encoding/base64"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/qrcode"
)

// consumers are the people of test mode, who do as one likes. They belong to no merchant.
var consumerNoun = &noun[account.Consumer]{
	path: "consumers", prefix: "acc", one: "Test consumer", many: "Test consumers", heads: [5]string{"Consumer", "Wallet", "Status", "Service ID", "Since"},
	empty: "A consumer has a wallet, and pays from it with a PIN.",
	forms: (*visit).consumerForms,
	reads: func(v *visit) reader[account.Consumer] {
		return reading(asOperator(v.svc.Accounts.ListConsumers), asOperator(v.svc.Accounts.GetConsumer))
	},
	row: func(v *visit, c *account.Consumer) row {
		balance, err := v.svc.Accounts.WalletBalance(v.Context(), testCaller, c.ID)
		v.note(err)
		return row{Href: v.url("consumers", c.ID), Title: cmp.Or(c.Name, "A consumer"), Below: look.Phone(c.Phone), Amount: balance, Badge: state(c.Status), For: c.ServiceID, At: c.CreatedAt}
	},
	page: (*visit).consumerPage,
}

// testCaller is the operator in test mode.
var testCaller = api.Caller{Live: false}

// asOperator reads what belongs to no merchant.
func asOperator[P, T any](call func(context.Context, api.Caller, P) (T, error)) func(context.Context, api.Caller, P) (T, error) {
	return func(ctx context.Context, _ api.Caller, p P) (T, error) { return call(ctx, testCaller, p) }
}

func (v *visit) consumerForms() []*form {
	var accounts []option
	for _, c := range listOf(v, asOperator(v.svc.Accounts.ListConsumers), api.Page{Limit: perPage}) {
		if c.Status != account.Closed { // which have no name left
			accounts = append(accounts, option{Value: c.ID, Label: c.Name + ", " + look.Phone(c.Phone)})
		}
	}
	return []*form{
		{
			Name: "consumer", Title: "Make a consumer", Button: "Make the consumer", Main: true, do: (*visit).createConsumer,
			Fields: ask(
				"name", "phone_number", field{Name: "pin", Label: "PIN of 4 to 6 digits"},
				field{Name: "balance", Label: "Money in the wallet, in cedis", Value: "500.00", Hint: "In test mode it comes from nowhere. Empty for none."},
			),
		},
		{
			Name: "show", Title: "Play a consumer who shows a code", Label: "Show a code", Button: "Make the code", do: (*visit).showCode,
			Fields: ask(
				field{Name: "account_id", Label: "Consumer", Kind: "select", Options: accounts},
				field{Name: "type", Label: "Type", Kind: "select", Options: codeTypes}, amountField("Empty lets the merchant say."),
			),
		},
	}
}

func (v *visit) consumerPage(c *account.Consumer, p *page) {
	p.Sentence = sentence("%s in the wallet", p.row.Amount)
	p.Live = []section{{Title: "Messages", Empty: empty{Title: "No messages yet", Text: "What is written to this consumer about payments to this merchant stands here."}}}
	if turns := v.messageTurns(c.ID, ""); len(turns) > 0 {
		p.Live[0] = inOrder("Messages", turns)
	}
	p.Side = []section{
		{Title: "Money", Money: facts("In the wallet", p.row.Amount)},
		{Title: "Details", Facts: facts("Phone", phone.Spaced(c.Phone), "Tier", words(c.Tier), "Service ID", id(c.ServiceID), "Account", id(c.ID), "Created", c.CreatedAt)},
	}
}

// maxPayload is the longest payload that is drawn, in characters.
const maxPayload = 1000

func (v *visit) showCode(in *input) (any, error) {
	made, err := create(v, in, v.svc.QRCodes.IssueConsumerCode, qrcode.IssueConsumerCodeParams{Account: in.text("account_id")})
	if err != nil {
		return nil, err
	}
	payload := made.(*qrcode.ConsumerCode).Payload
	s := &section{
		Panel: true, Title: "The consumer's code", Text: "Enter the payload under disbursements, or send it to /v1/qr_codes/resolve or /v1/disbursements/qr as qr_payload.",
		Facts: facts("Payload", id(payload)),
	}
	if len(payload) <= maxPayload {
		s.Picture = &link{"QR code that the consumer shows", v.url("consumers", base64.RawURLEncoding.EncodeToString([]byte(payload)), "code.png")}
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
	balance := in.pesewas("balance")
	if in.problem != nil {
		return nil, in.problem
	}
	c, err := v.svc.Accounts.CreateConsumer(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey}, account.CreateHolderParams{Name: in.text("name"), Phone: in.text("phone_number"), PIN: in.text("pin")})
	if err != nil || balance == nil {
		return nil, err
	}
	return nil, v.svc.Accounts.Deposit(v.Context(), api.Caller{IdempotencyKey: v.caller.IdempotencyKey + "-balance"}, account.DepositParams{To: c.ID, Amount: api.FromPesewas(*balance).Decimal, Source: "test"})
}
