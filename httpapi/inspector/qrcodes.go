package inspector

import (
	"strconv"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

// onOff are the tabs of what can be switched on and off.
var onOff = states("active", "inactive")

var qrCodeNoun = &noun[qrcode.QRCode]{
	path: "qr-codes", one: "QR code", many: "QR codes", heads: [5]string{"Code", "Amount", "State", "For", "Created"},
	tab: "active", tabs: onOff, dated: true,
	filters: []field{{Name: "type", Label: "Type", Kind: "select", Options: append([]option{{Label: "Any"}}, options(qrcode.Static, qrcode.Dynamic)...)}},
	empty:   "Payers scan a code and pay on its page. A static code stands at the till; a dynamic one is for one order.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a QR code", Button: "Make the QR code", Main: true,
			Fields: []field{
				{Name: "type", Label: "Type", Kind: "select", Options: options(qrcode.Static, qrcode.Dynamic)},
				amountField("amount", "Empty lets the customer enter it."),
				{Name: "name", Label: "Name"},
				{Name: "description", Label: "Description"},
				{Name: "reference", Label: "Reference"},
				{Name: "usage_limit", Label: "Usage limit", Kind: "number", Hint: "For dynamic codes; empty for one."},
			},
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.QRCodes.Create, qrcode.CreateParams{
					Type: qrcode.Type(in.text("type")), Amount: in.pesewas("amount"), Name: in.text("name"),
					Description: in.text("description"), Reference: in.text("reference"), UsageLimit: in.integer("usage_limit"),
				})
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[qrcode.QRCode], error) {
		return v.svc.QRCodes.List(v.Context(), v.caller, qrcode.ListParams{Page: page, Type: qrcode.Type(v.param("type")), Active: v.active(), Created: v.created()})
	},
	row: func(v *visit, c *qrcode.QRCode) row {
		r := row{Href: v.url("qr-codes", c.ID), Title: orDefault(c.Name, "QR code"), Below: joinNonEmpty(words(c.Type), usedText(c)), Amount: c.Amount, Badge: activity(c.Active), For: c.Description, ForBelow: c.Reference, At: unix(c.Created)}
		if c.Amount == nil {
			r.Amount = "Any"
		}
		return r
	},
	get:  func(v *visit) (*qrcode.QRCode, error) { return v.svc.QRCodes.Get(v.Context(), v.caller, v.id) },
	page: (*visit).qrCodePage,
}

// active reads the tabs of what is on or off; nil for all.
func (v *visit) active() *bool {
	if is := v.param("active"); is == "active" || is == "inactive" {
		return new(is == "active")
	}
	return nil
}

func usedText(c *qrcode.QRCode) string {
	used := "used " + strconv.FormatInt(c.UsageCount, 10)
	if c.UsageLimit != nil {
		used += " of " + strconv.FormatInt(*c.UsageLimit, 10)
	}
	return used
}

func (v *visit) qrCodePage(c *qrcode.QRCode, p *page) error {
	paid, err := v.svc.QRCodes.ListPayments(v.Context(), v.caller, c.ID, payment.ListParams{Page: api.Page{Limit: perPage}})
	if err != nil {
		return err
	}
	happened, err := v.timeline("qr_code", c.ID, unix(c.Created).Time, []step{{"created", "Made", "API", ""}, {"updated", "Changed", "API", ""}})
	if err != nil {
		return err
	}
	var amount any = "The customer enters it"
	if c.Amount != nil {
		amount = c.Amount
	}
	p.Title, p.Badge, p.Sentence = orDefault(c.Name, "QR code"), activity(c.Active), sentence("%s, %s", words(c.Type), usedText(c))
	p.Live = []section{related(v, paymentNoun, paid, "Payments", "Nobody has paid this code yet.", v.url("payments")+"?qr_code="+c.ID), happened}
	p.Side = []section{
		{Picture: &link{"QR code that leads to the payment page", v.url("qr-codes", c.ID, "picture.png")}},
		{Title: "Details", Facts: facts("Amount", amount, "Payment page", &link{c.Data, c.Data}, "For", c.Description, "Reference", c.Reference,
			"Used", c.UsageCount, "Usage limit", limitText(c.UsageLimit), "QR code", id(c.ID), "Created", unix(c.Created), "Expires", c.ExpiresAt)},
	}
	p.Forms, err = v.payForms(c)
	p.Forms = append(p.Forms, switchForms(c.Active, func(v *visit, on *bool) (any, error) {
		return v.svc.QRCodes.Update(v.Context(), v.caller, v.id, qrcode.UpdateParams{Active: on})
	}, "Nobody can pay it any more. Its payments stay.", v.svc.QRCodes.Delete)...)
	return err
}

func limitText(n *int64) string {
	if n == nil {
		return "None"
	}
	return strconv.FormatInt(*n, 10)
}

// payForms pay a code from a wallet or a phone.
func (v *visit) payForms(c *qrcode.QRCode) ([]*form, error) {
	wallets, err := v.wallets()
	will := facts("To", v.merchant.Name, "Amount", c.Amount)
	pay := &form{
		Name: "pay", Title: "Pay as a consumer who scans", Label: "Pay from a wallet", Button: "Pay", Main: true, Fields: payer(wallets), Will: will,
		do: func(v *visit, in *input) (any, error) { return v.scan(in, v.id) },
	}
	phone := &form{Name: "pay-phone", Title: "Pay from a phone", Button: "Ask the phone", Fields: phonePayer(), Will: will, do: (*visit).payCodeFromPhone}
	for _, f := range []*form{pay, phone} {
		if c.Amount == nil {
			f.Fields = append([]field{amountField("amount", "")}, f.Fields...)
		}
	}
	return []*form{pay, phone}, err
}

// payer is who pays from a wallet, in a form.
func payer(wallets []option) []field {
	return []field{{
		Name: "wallet", Label: "Wallet", Options: wallets, Params: []string{"phone_number", "service_id", "account_id"},
		Hint: "Phone number, service ID (SVC…) or account ID (acc_…).",
	}, {Name: "pin", Label: "PIN", Kind: "password", Hint: "The consumers of the quickstart have 1234."}}
}

// scan pays a code as a consumer does.
func (v *visit) scan(in *input, id string) (any, error) {
	p := qrcode.PayParams{Wallet: in.wallet("wallet"), PIN: in.text("pin"), Amount: in.pesewas("amount")}
	if err := in.err(); err != nil {
		return nil, err
	}
	return v.svc.QRCodes.Pay(v.Context(), v.caller, id, p)
}

// payCodeFromPhone pays the page's QR code as a payer does on the payment page.
func (v *visit) payCodeFromPhone(in *input) (any, error) {
	p := qrcode.PayParams{MobileMoney: in.phonePayer(), Amount: in.pesewas("amount")}
	if p.PhoneNumber == "" { // which would pay from a wallet
		in.refuse(api.Invalid("phone_number", "Enter the payer's number, such as 024 123 4567."))
	}
	return update(v, in, v.svc.QRCodes.Pay, p)
}

func (v *visit) qrPicture() (*file, error) {
	data, err := v.svc.QRCodes.Image(v.Context(), v.caller, v.id, qrcode.ImageParams{Format: qrcode.PNG})
	return &file{contentType: "image/png", data: data}, err
}

// wallets are the newest consumers, as suggestions.
func (v *visit) wallets() (found []option, err error) {
	list, err := v.svc.Accounts.ListConsumers(v.Context(), testCaller, api.Page{Limit: perPage})
	for i := 0; err == nil && i < len(list.Data); i++ {
		if c := &list.Data[i]; c.Status != account.Closed {
			found = append(found, option{Value: c.Phone, Label: c.Name})
		}
	}
	return found, err
}
