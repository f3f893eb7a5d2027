package message

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// LinkPage is a page that has short links. Its text is the first part of their path, below
// payments.Config.BaseURL.
type LinkPage string

// The pages with short links.
const (
	ReceiptPage      LinkPage = "r" // of a payment from a phone
	InvoicePage      LinkPage = "i"
	SubscriptionPage LinkPage = "s"
	CodePage         LinkPage = "q" // of a QR code
)

// linkLength is the length of the secret in a short link, in characters of base 62: 65 bits.
const linkLength = 11

// link is the short link of an object, whose id it has. It holds nothing of a person.
type link struct {
	Page LinkPage `json:"page"`
	Code string   `json:"code"`
}

var links = storage.NewCollection("message_links", []storage.Field[link]{
	storage.TextColumn("code", func(l *link) string { return l.Code }),
}, storage.UniqueGlobally("code", "code"))

// Link returns the short link to the page of an object of the caller's. The first call for an object
// makes the link, in the caller's transaction. Later calls return the same one.
func (i *Internal) Link(tx *engine.Tx, page LinkPage, id string) (string, error) {
	scope := engine.Scope(tx.Caller)
	o, err := engine.OrNil(links.Get(tx, scope, id))
	if err == nil && o == nil {
		o, err = links.Insert(tx, scope, id, link{Page: page, Code: ids.Secret(rand.Reader, linkLength)})
		if errors.Is(err, storage.ErrExists) { // another transaction has made it
			o, err = links.Get(tx, scope, id)
		}
	}
	if err != nil {
		return "", fmt.Errorf("message: link: %w", err)
	}
	return i.svc.engine.BaseURL + "/" + string(o.Value.Page) + "/" + o.Value.Code, nil
}

// Linked is what a short link leads to.
type Linked struct {
	// ID is the object's, which may be gone.
	ID string
	// Caller stands for the object's merchant, in the calls of its page.
	Caller api.Caller
}

// FindLink finds a short link by the secret in it. An unknown secret is resource_missing, and so is one
// of another page.
func (s *Service) FindLink(ctx context.Context, page LinkPage, code string) (*Linked, error) {
	var found *Linked
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := links.Find(tx, "code", storage.Scope{}, code)
		if o, err = engine.OrMissing(o, err, "link"); err != nil {
			return err
		}
		if o.Value.Page != page {
			return api.NoSuch("link")
		}
		found = &Linked{ID: o.ID, Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
		return nil
	})
	return found, err
}
