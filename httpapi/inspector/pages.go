package inspector

// pages are all pages under a merchant, by their path with * for an id.
var pages = map[string]func(*visit) (*page, error){
	"":                (*visit).overview,
	"ledger":          (*visit).ledger,
	"qr-codes":        (*visit).qrCodes,
	"qr-codes/*":      (*visit).qrCode,
	"payments":        (*visit).payments,
	"payments/*":      (*visit).payment,
	"refunds":         (*visit).refunds,
	"refunds/*":       (*visit).refund,
	"payouts":         (*visit).payouts,
	"payouts/*":       (*visit).payout,
	"disbursements":   (*visit).disbursements,
	"disbursements/*": (*visit).disbursement,
	"batches":         (*visit).batches,
	"batches/*":       (*visit).batch,
	"invoices":        (*visit).invoices,
	"invoices/*":      (*visit).invoice,
	"products":        (*visit).products,
	"products/*":      (*visit).product,
	"coupons":         (*visit).coupons,
	"coupons/*":       (*visit).coupon,
	"plans":           (*visit).plans,
	"plans/*":         (*visit).plan,
	"customers":       (*visit).customers,
	"customers/*":     (*visit).customer,
	"messages":        (*visit).messages,
	"messages/*":      (*visit).message,
	"events":          (*visit).events,
	"events/*":        (*visit).event,
	"webhooks":        (*visit).webhooks,
	"webhooks/*":      (*visit).webhook,
	"sandbox":         (*visit).sandbox,
}

// files are what pages show besides text, by their path.
var files = map[string]func(*visit) (*file, error){
	"qr-codes/*/picture.png":    (*visit).qrPicture,
	"refunds/*/credit-note.pdf": (*visit).creditNote,
	"invoices/*/invoice.pdf":    (*visit).invoicePDF,
	"messages/*/mail.html":      (*visit).mail,
	"sandbox/*/code.png":        (*visit).consumerPicture,
}
