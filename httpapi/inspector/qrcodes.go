package inspector

import (
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

func (v *visit) qrCodes() (*page, error) {
	p := qrcode.ListParams{Page: v.page(), Type: qrcode.Type(v.query.Get("type")), Active: v.activeFilter(), Created: v.day()}
	list, err := v.svc.QRCodes.List(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "QR codes", NavPath: "qr-codes",
		Filter: []field{v.filter("type", "Type", "static", "dynamic"), v.filter("active", "State", "active", "inactive"), v.dayFilter()},
		Forms: []*form{{
			Name: "create", Title: "New QR code", Button: "Make the QR code",
			Fields: []field{
				{Name: "type", Label: "Type", Kind: "select", Options: options("static", "dynamic")},
				{Name: "amount", Label: "Amount in GHS", Hint: "Empty lets the customer enter it."},
				{Name: "name", Label: "Name"},
				{Name: "description", Label: "Description"},
				{Name: "reference", Label: "Reference"},
				{Name: "usage_limit", Label: "Usage limit", Kind: "number", Hint: "For dynamic codes; empty for one."},
			},
			do: (*visit).createQRCode,
		}},
		Live:     []section{{Rows: rowsOf(list, v.qrCodeRow), Empty: "There is no QR code."}},
		NextPage: nextPage(v, list, func(c *qrcode.QRCode) string { return c.ID }),
	}, nil
}

func (v *visit) qrCodeRow(c *qrcode.QRCode) row {
	r := row{
		Href: v.url("qr-codes", c.ID), Title: c.ID, Detail: joinNonEmpty(c.Name, string(c.Type)), Amount: "open amount",
		State: activity(c.Active), At: api.At(time.Unix(c.Created, 0)),
	}
	if c.Amount != nil {
		r.Amount = formatPesewas(*c.Amount)
	}
	return r
}

func activity(active bool) string {
	if active {
		return "active"
	}
	return "inactive"
}

func (v *visit) createQRCode(in *input) (*result, error) {
	p := qrcode.CreateParams{
		Type: qrcode.Type(in.text("type")), Amount: in.pesewas("amount"), Name: in.text("name"),
		Description: in.text("description"), Reference: in.text("reference"), UsageLimit: in.integer("usage_limit"),
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	c, err := v.svc.QRCodes.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("qr-codes", c.ID)}, nil
}

func (v *visit) qrCode() (*page, error) {
	c, err := v.svc.QRCodes.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	paid, err := v.svc.QRCodes.ListPayments(v.Context(), v.caller, c.ID, payment.ListParams{Page: api.Page{Limit: perPage}})
	if err != nil {
		return nil, err
	}
	history, err := v.history("qr_code", c.ID, time.Unix(c.Created, 0), "updated")
	if err != nil {
		return nil, err
	}
	wallets, err := v.wallets()
	if err != nil {
		return nil, err
	}
	amount := "The customer enters it"
	pay := &form{
		Name: "pay", Title: "Pay as a consumer who scans", Button: "Pay",
		Fields: payer(wallets), do: (*visit).payQRCode,
	}
	phone := &form{Name: "pay-phone", Title: "Pay from a phone", Button: "Ask the phone", Fields: phonePayer(), do: (*visit).payCodeFromPhone}
	if c.Amount != nil {
		amount = formatPesewas(*c.Amount)
	} else {
		for _, f := range []*form{pay, phone} {
			f.Fields = append([]field{{Name: "amount", Label: "Amount in GHS", Required: true}}, f.Fields...)
		}
	}
	limit := "none"
	if c.UsageLimit != nil {
		limit = formatCount(*c.UsageLimit)
	}
	turn := &form{Name: "deactivate", Button: "Switch off", do: setActive(false)}
	if !c.Active {
		turn = &form{Name: "activate", Button: "Switch on", do: setActive(true)}
	}
	title := c.Name
	if title == "" {
		title = "QR code"
	}
	return &page{
		Title: title, NavPath: "qr-codes", Forms: []*form{pay, phone},
		Static: []section{{Picture: v.url("qr-codes", c.ID, "picture.png"), PictureText: "QR code that leads to the payment page"}},
		Live: []section{
			{
				Facts: nonEmpty(
					fact{Name: "ID", Value: c.ID, Code: true},
					fact{Name: "State", Value: activity(c.Active), State: true},
					fact{Name: "Amount", Value: amount},
					fact{Name: "Type", Value: string(c.Type)},
					fact{Name: "Used", Value: formatCount(c.UsageCount)},
					fact{Name: "Usage limit", Value: limit},
					fact{Name: "Expires", Value: formatOptionalTime(c.ExpiresAt)},
					fact{Name: "Description", Value: c.Description},
					fact{Name: "Reference", Value: c.Reference},
					fact{Name: "Payment page", Value: c.Data, Href: c.Data, Wide: true},
				),
				Buttons: []*form{turn, {Name: "delete", Button: "Delete", Danger: true, do: (*visit).deleteQRCode}},
			},
			{Title: "Payments", Rows: rowsOf(paid, v.paymentRow), Empty: "Nobody has paid this code yet."},
			history,
			{JSON: indentJSON(c)},
		},
	}, nil
}

// payer is who pays, in a form.
func payer(wallets []option) []field {
	return []field{
		{
			Name: "wallet", Label: "Wallet", Required: true, Options: wallets, Params: []string{"phone_number", "service_id", "account_id"},
			Hint: "Phone number, service ID (SVC…) or account ID (acc_…).",
		},
		{Name: "pin", Label: "PIN", Kind: "password", Required: true, Hint: "The consumers of the quickstart have 1234."},
	}
}

func (v *visit) payQRCode(in *input) (*result, error) { return v.scan(in, v.id) }

// scan pays a code as a consumer does.
func (v *visit) scan(in *input, id string) (*result, error) {
	p := qrcode.PayParams{Wallet: in.wallet("wallet"), PIN: in.text("pin"), Amount: in.pesewas("amount")}
	if err := in.err(); err != nil {
		return nil, err
	}
	paid, err := v.svc.QRCodes.Pay(v.Context(), v.caller, id, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("payments", paid.ID)}, nil
}

func setActive(active bool) func(*visit, *input) (*result, error) {
	return func(v *visit, _ *input) (*result, error) {
		_, err := v.svc.QRCodes.Update(v.Context(), v.caller, v.id, qrcode.UpdateParams{Active: &active})
		return nil, err
	}
}

func (v *visit) deleteQRCode(*input) (*result, error) {
	_, err := v.svc.QRCodes.Delete(v.Context(), v.caller, v.id)
	return &result{redirect: v.url("qr-codes")}, err
}

func (v *visit) qrPicture() (*file, error) {
	data, err := v.svc.QRCodes.Image(v.Context(), v.caller, v.id, qrcode.ImageParams{Format: qrcode.PNG})
	if err != nil {
		return nil, err
	}
	return &file{contentType: "image/png", data: data}, nil
}

// wallets are the newest consumers, as suggestions.
func (v *visit) wallets() ([]option, error) {
	list, err := v.svc.Accounts.ListConsumers(v.Context(), api.Caller{}, api.Page{Limit: perPage})
	if err != nil {
		return nil, err
	}
	var found []option
	for i := range list.Data {
		if c := &list.Data[i]; c.Status != account.Closed {
			found = append(found, option{c.Phone, c.Name})
		}
	}
	return found, nil
}
