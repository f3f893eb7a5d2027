package inspector

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

// invoiceAction makes a button of a method that takes an invoice's id alone.
func invoiceAction(method func(*invoice.Service, context.Context, api.Caller, string) (*invoice.Invoice, error)) func(*visit, *input) (*result, error) {
	return func(v *visit, _ *input) (*result, error) {
		_, err := method(v.svc.Invoices, v.Context(), v.caller, v.id)
		return nil, err
	}
}

// chargeInvoice takes the money through the charger of test mode.
func (v *visit) chargeInvoice(*input) (*result, error) {
	_, err := v.svc.Invoices.Pay(v.Context(), v.caller, v.id, invoice.PayParams{})
	return nil, err
}

func (v *visit) payInvoiceFromWallet(in *input) (*result, error) {
	p := invoice.PayFromWalletParams{Wallet: in.wallet("wallet"), PIN: in.text("pin")}
	if err := in.err(); err != nil {
		return nil, err
	}
	_, err := v.svc.Invoices.PayFromWallet(v.Context(), v.caller, v.id, p)
	return nil, err
}

func (v *visit) addLine(in *input) (*result, error) {
	l := in.line()
	if err := in.err(); err != nil {
		return nil, err
	}
	_, err := v.svc.Invoices.AddLine(v.Context(), v.caller, v.id, l)
	return nil, err
}

func (v *visit) deleteInvoice(*input) (*result, error) {
	_, err := v.svc.Invoices.Delete(v.Context(), v.caller, v.id)
	return &result{redirect: v.url("invoices")}, err
}

// invoicePDF is the document as it goes to the customer.
func (v *visit) invoicePDF() (*file, error) {
	data, name, err := v.svc.Invoices.PDFFile(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	return pdfFile(name, data), nil
}
