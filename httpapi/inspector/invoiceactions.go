package inspector

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// change makes a button of a method that takes an invoice's id alone.
func change(method func(*invoice.Service, context.Context, api.Caller, string) (*invoice.Invoice, error)) func(*visit, *input) (*outcome, error) {
	return func(v *visit, _ *input) (*outcome, error) {
		_, err := method(v.svc.Invoices, v.Context(), v.caller, v.id)
		return nil, err
	}
}

// chargeInvoice takes the money through the charger of test mode.
func (v *visit) chargeInvoice(*input) (*outcome, error) {
	_, err := v.svc.Invoices.Pay(v.Context(), v.caller, v.id, invoice.PayParams{})
	return nil, err
}

func (v *visit) payInvoiceFromWallet(in *input) (*outcome, error) {
	p := invoice.WalletParams{Wallet: in.wallet("wallet"), PIN: in.text("pin")}
	if err := in.err(); err != nil {
		return nil, err
	}
	_, err := v.svc.Invoices.PayWallet(v.Context(), v.caller, v.id, p)
	return nil, err
}

func (v *visit) addLine(in *input) (*outcome, error) {
	l := in.line()
	if err := in.err(); err != nil {
		return nil, err
	}
	_, err := v.svc.Invoices.AddLine(v.Context(), v.caller, v.id, l)
	return nil, err
}

func (v *visit) deleteInvoice(*input) (*outcome, error) {
	_, err := v.svc.Invoices.Delete(v.Context(), v.caller, v.id)
	return &outcome{to: v.to("invoices")}, err
}

// invoicePDF is the document as it goes to the customer.
func (v *visit) invoicePDF() (*file, error) {
	a, err := v.svc.Invoices.Attach(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	return pdfFile(a.Name, a.Data), nil
}
