package inspector

import "strings"

// pages are all pages under a merchant, by their path with * for an id.
var pages = map[string]func(*visit) (*page, error){
	"":       (*visit).overview,
	"search": (*visit).searchPage,
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

// navigation is the menu. Each noun in it gets its pages.
var navigation = []navGroup{
	{"", []navEntry{{"", "Overview"}}},
	{"Money in", []navEntry{describe(paymentNoun), describe(qrCodeNoun), describe(invoiceNoun), describe(checkoutNoun), describe(subscriptionNoun), describe(refundNoun)}},
	{"Money out", []navEntry{describe(disbursementNoun), describe(payoutNoun), describe(batchNoun)}},
	{"Catalogue", []navEntry{describe(productNoun), describe(planNoun), describe(couponNoun)}},
	{"People", []navEntry{describe(customerNoun), describe(consumerNoun), describe(topUpNoun)}},
	{"Developers", []navEntry{describe(eventNoun), describe(webhookNoun), describe(messageNoun), describe(ledgerNoun), {"clock", "Test clock"}}},
}

var (
	// finders find an object as its list shows it, by the path of the list.
	finders = map[string]func(v *visit, id string) (row, error){}
	// paths are those of lists, by the prefix of the ids in them.
	paths = map[string]string{}
	// ways say from or to whom the money of an object goes, by the path of its list.
	ways = map[string]string{}
)

func describe[T any](n *noun[T]) navEntry {
	pages[n.path], ways[n.path] = n.listPage, n.way
	if n.loud {
		files[n.path+".csv"] = n.export
	}
	if n.prefix != "" {
		paths[n.prefix] = n.path
		links[strings.ReplaceAll(strings.ToLower(n.one), " ", "_")] = linking{n.prefix + "_", n.one}
	}
	if n.page != nil {
		pages[n.path+"/*"] = n.objectPage
		finders[n.path] = func(v *visit, id string) (row, error) {
			o, err := n.reads(v).get(v, id)
			if err != nil {
				return row{}, err
			}
			return n.show(v, o), nil
		}
	}
	return navEntry{n.path, n.many}
}
