package message_test

import (
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
)

// link returns the short link of an object, from a transaction that ends with an error.
func (p *post) link(t *testing.T, caller api.Caller, page message.LinkPage, id string, end error) (address string) {
	t.Helper()
	err := p.engine.Update(t.Context(), caller, func(tx *engine.Tx) (err error) {
		if address, err = p.Link(tx, page, id); err != nil {
			return err
		}
		return end
	})
	expect.ErrorIs(t, err, end, "link")
	return address
}

func TestShortLinks(t *testing.T) {
	p := newPost(t, nil)
	p.engine.BaseURL = "https://pay.example.com"
	first := p.link(t, live, message.SubscriptionPage, "sub_1", nil)
	const head = "https://pay.example.com/s/"
	must.True(t, len(first) == len(head)+11 && first[:len(head)] == head && ids.IsBase62(first[len(head):]), "the link is %s", first)
	code := first[len(head):]
	expect.Equal(t, p.link(t, live, message.SubscriptionPage, "sub_1", nil), first, "the link of a later message")
	found := must.Get(p.FindLink(t.Context(), message.SubscriptionPage, code))(t)
	expect.Equal(t, *found, message.Linked{ID: "sub_1", Caller: live}, "leads to")

	for name, other := range map[string]string{
		"another object":   p.link(t, live, message.SubscriptionPage, "sub_2", nil),
		"another merchant": p.link(t, api.Caller{Merchant: "mer_2", Live: true}, message.SubscriptionPage, "sub_1", nil),
		"the other mode":   p.link(t, test, message.SubscriptionPage, "sub_1", nil),
	} {
		expect.True(t, other != first, "%s has the link of the first", name)
	}
	for _, page := range []message.LinkPage{message.ReceiptPage, message.InvoicePage, message.CodePage, ""} {
		testkit.WantCode(t, "the code below /"+string(page)+"/", testkit.Err(p.FindLink(t.Context(), page, code)), api.ResourceMissing)
	}
	testkit.WantCode(t, "a code that is none", testkit.Err(p.FindLink(t.Context(), message.SubscriptionPage, "sub_1")), api.ResourceMissing)

	// The link is of the message's transaction.
	failed := errors.New("rolled back")
	lost := p.link(t, live, message.InvoicePage, "inv_1", failed)
	testkit.WantCode(t, "a link of a transaction that failed", testkit.Err(p.FindLink(t.Context(), message.InvoicePage, lost[len(head):])), api.ResourceMissing)
}

// The SMS of a code holds no word of a name that reads as an address.
func TestNamesInTheTextsOfCodes(t *testing.T) {
	p := newPost(t, nil)
	for name, want := range map[string]string{
		"Adom Juice Bar":                        "Adom Juice Bar",
		"St. Mary's School No. 2":               "St. Mary's School No. 2",
		"A.B. Stores":                           "A.B. Stores",
		"GCB Bank, verify at gcb-verify.com/gh": "GCB Bank, verify at",
		"https://evil.example":                  "a merchant",
		"www.evil Shop":                         "Shop",
		"www.1shop Shop":                        "Shop",
		"WWW.1SHOP Shop":                        "Shop",
		"Pay at EVIL.COM now":                   "Pay at now",
		"Shop evil．com":                         "Shop",
		"Shop evil .com/x":                      "Shop evil",
		"Write to ama@evil Shop":                "Write to Shop",
		"10.0.0.1/x Shop":                       "Shop",
		"🎉":                                     "a merchant",
		"Ɔdɔ Ɛna Café":                          "Odo Ena Café",
	} {
		expect.Equal(t, p.CodeName(name, "a merchant"), want, "%q", name)
	}
}
