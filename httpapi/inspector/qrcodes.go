package inspector

import (
	"cmp"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/qrcode"
)

var codeTypes = options(qrcode.Static, qrcode.Dynamic)

var qrCodeNoun = &noun[qrcode.QRCode]{
	path: "qr-codes", prefix: "qr", one: "QR code", many: "QR codes", heads: [5]string{"Code", "Amount", "State", "For", "Created"},
	tab: "active", tabs: onOff, dated: true,
	filters: []field{choice("type", "Type", codeTypes)},
	empty:   "Payers scan a code and pay on its page. A static code stands at the till; a dynamic one is for one order.",
	forms: func(v *visit) []*form {
		return []*form{making("QR code", makes(v.svc.QRCodes.Create), ask(
			field{Name: "type", Label: "Type", Kind: "select", Options: codeTypes}, amountField("Empty lets the customer enter it."),
			"name", field{Name: "description", Label: "Description"}, "reference",
			field{Name: "usage_limit", Label: "Usage limit", Kind: "number", Hint: "For dynamic codes; empty for one."},
		))}
	},
	reads: func(v *visit) reader[qrcode.QRCode] { return reading(v.svc.QRCodes.List, v.svc.QRCodes.Get) },
	row: func(v *visit, c *qrcode.QRCode) row {
		r := row{Href: v.url("qr-codes", c.ID), Title: cmp.Or(c.Name, "QR code"), Below: look.Join(" · ", words(c.Type), used(c.UsageCount, c.UsageLimit)), Amount: c.Amount, Badge: activity[c.Active], For: c.Description, ForBelow: c.Reference, At: unix(c.Created)}
		if c.Amount == nil {
			r.Amount = "Any"
		}
		return r
	},
	page: (*visit).qrCodePage,
}

// used says how often something was used, and how often it may be.
func used(count int64, limit *int64) string {
	if limit == nil {
		return fmt.Sprintf("used %d", count)
	}
	return fmt.Sprintf("used %d of %d", count, *limit)
}

func (v *visit) qrCodePage(c *qrcode.QRCode, p *page) {
	var shown, amount any = "The customer enters it", nil
	if c.Amount != nil {
		shown, amount = c.Amount, cedis(*c.Amount)
	}
	p.Sentence = sentence("%s, %s", words(c.Type), used(c.UsageCount, c.UsageLimit))
	p.Live = []section{paymentNoun.related(v, "qr_code", c.ID), v.timeline("qr_code", c.ID, unix(c.Created).Time, "", nil)}
	p.Side = []section{
		{Title: "Code", Picture: &link{"QR code that leads to the payment page", v.url("qr-codes", c.ID, "picture.png")}},
		{Title: "Details", Facts: facts("Amount", shown, "Payment page", address(c.Data), "For", c.Description, "Reference", c.Reference,
			"QR code", id(c.ID), "Created", unix(c.Created), "Expires", c.ExpiresAt)},
	}
	pay := changes(v.svc.QRCodes.Pay)
	p.Forms = append(v.payForms("", amount, pay, func(v *visit, in *input) (any, error) {
		if in.text("phone_number") == "" { // which would pay from a wallet
			in.refuse(api.Invalid("phone_number", "Enter the payer's number, such as 024 123 4567."))
		}
		return pay(v, in)
	}), switchForms(c.Active, v.svc.QRCodes.Update, "It can no longer be paid. Its payments stay.", v.svc.QRCodes.Delete)...)
	p.Forms[0].Main = c.Active
}

// walletPayer is who pays from a wallet, in a form. The newest consumers are suggestions.
func (v *visit) walletPayer() []field {
	var wallets []option
	for _, c := range listOf(v, asOperator(v.svc.Accounts.ListConsumers), api.Page{Limit: perPage}) {
		if c.Status != account.Closed {
			wallets = append(wallets, option{Value: c.Phone, Label: c.Name})
		}
	}
	return []field{{
		Name: "wallet", Label: "Wallet", Options: wallets, Params: []string{"phone_number", "service_id", "account_id"},
		Hint: "Phone number, service ID (SVC…) or account ID (acc_…).",
	}, {Name: "pin", Label: "PIN", Kind: "password", Hint: "The consumers of the quickstart have 1234."}}
}

func (v *visit) qrPicture() (*file, error) {
	data, err := v.svc.QRCodes.Image(v.Context(), v.caller, v.id, qrcode.ImageParams{Format: qrcode.PNG})
	return &file{contentType: "image/png", data: data}, err
}
