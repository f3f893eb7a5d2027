package inspector

// pages are all pages under a merchant, by their path with * for an id.
var pages = map[string]func(*visit) (*page, error){
	"":       (*visit).overview,
	"search": (*visit).searchPage,
	"ledger": (*visit).ledgerPage,
	"clock":  (*visit).clockPage,
}

// files are what pages show besides text, by their path.
var files = map[string]func(*visit) (*file, error){
	"qr-codes/*/picture.png":    (*visit).qrPicture,
	"refunds/*/credit-note.pdf": (*visit).creditNote,
	"invoices/*/invoice.pdf":    (*visit).invoicePDF,
	"messages/*/mail.html":      (*visit).mail,
	"consumers/*/code.png":      (*visit).consumerPicture,
}

func init() {
	describe(paymentNoun)
	describe(qrCodeNoun)
	describe(invoiceNoun)
	describe(checkoutNoun)
	describe(subscriptionNoun)
	describe(refundNoun)
	describe(disbursementNoun)
	describe(payoutNoun)
	describe(batchNoun)
	describe(productNoun)
	describe(planNoun)
	describe(couponNoun)
	describe(customerNoun)
	describe(consumerNoun)
	describe(eventNoun)
	describe(webhookNoun)
	describe(messageNoun)
}

// describe makes the pages of a noun.
func describe[T any](n *noun[T]) {
	pages[n.path] = n.listPage
	pages[n.path+"/*"] = n.objectPage
}
