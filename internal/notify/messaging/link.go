package messaging

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// linkLength is the length of the secret in a short link, in characters of base 62: 65 bits.
const linkLength = 11

// link is the short link of an object, whose id it has. It holds nothing of a person.
type link struct {
	Page message.LinkPage `json:"page"`
	Code string           `json:"code"`
}

var links = storage.NewCollection("message_links", []storage.Field[link]{
	storage.TextColumn("code", func(l *link) string { return l.Code }),
}, storage.UniqueGlobally("code", "code"))

// Link returns the short link to the page of an object of the caller's. The first call for an object
// makes the link, in the caller's transaction. Later calls return the same one.
func (s *Service) Link(tx *engine.Tx, page message.LinkPage, id string) (string, error) {
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
	return s.engine.BaseURL + "/" + string(o.Value.Page) + "/" + o.Value.Code, nil
}

func (s *Service) FindLink(ctx context.Context, page message.LinkPage, code string) (*message.Linked, error) {
	var found *message.Linked
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := links.Find(tx, "code", storage.Scope{}, code)
		if o, err = engine.OrMissing(o, err, "link"); err != nil {
			return err
		}
		if o.Value.Page != page {
			return api.NoSuch("link")
		}
		found = &message.Linked{ID: o.ID, Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
		return nil
	})
	return found, err
}
