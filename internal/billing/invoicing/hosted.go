package invoicing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Hosted(ctx context.Context, token string) (*invoice.Hosted, error) {
	h, err := s.findHosted(ctx, token)
	if err != nil {
		return nil, err
	}
	if h.Invoice.Status == invoice.Draft {
		return nil, api.NoSuch("invoice")
	}
	h.Invoice.Memo = nil // never shown to the customer
	return h, nil
}

func (s *Service) findHosted(ctx context.Context, token string) (*invoice.Hosted, error) {
	var h *invoice.Hosted
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := invoices.Find(tx, "token", storage.Scope{}, token)
		if o, err = engine.OrMissing(o, err, "invoice"); err != nil {
			return err
		}
		s.fillDerived(&o.Value)
		h = &invoice.Hosted{Invoice: o.Value.Invoice, Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
		m, err := s.config.Accounts.Merchant(tx, o.Scope.Merchant)
		if err != nil {
			return fmt.Errorf("invoice: merchant: %w", err)
		}
		h.Merchant = *m
		if o.Value.Refunded == 0 {
			return nil
		}
		page, _, err := creditNotes.List(tx, storage.Query{
			Scope: o.Scope, Where: engine.Where(nil, "invoice", o.ID), Limit: maxShownCreditNotes,
		})
		if err != nil {
			return fmt.Errorf("invoice: list credit notes: %w", err)
		}
		for _, n := range page {
			h.CreditNotes = append(h.CreditNotes, n.Value)
		}
		return nil
	})
	return h, err
}

func (s *Service) PayFromWallet(ctx context.Context, caller api.Caller, id string, p invoice.PayFromWalletParams) (*invoice.Invoice, error) {
	op := engine.Operation{Name: "invoice.pay_wallet", Params: struct {
		ID string `json:"id"`
		invoice.PayFromWalletParams
	}{id, p}}
	due := func(tx *engine.ReadTx) (bool, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return false, err
		}
		return o.Value.AmountDue > 0, s.payable(tx, tx.Now, o, caller.IdempotencyKey)
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (done *invoice.Invoice, err error) {
		err = s.config.Accounts.PayFromWallet(ctx, s.engine, caller, p.Wallet, party.PINEntry{PIN: p.PIN, From: p.From}, due, func(confirm func(*engine.Tx) (*account.Consumer, error)) (err error) {
			done, err = s.change(ctx, caller, op, id, func(tx *engine.Tx, o *storage.Object[record]) error {
				from, err := confirm(tx)
				if err != nil {
					return err
				}
				if err := s.payable(tx, tx.Now, o, caller.IdempotencyKey); err != nil {
					return err
				}
				if from == nil {
					return s.markPaid(tx, o, nil, payer{}) // no money moves
				}
				masked := phone.Mask(from.Phone)
				return s.bookPaid(tx, o, payer{
					moves: []storage.Move{ledger.Wallet(from.ID, caller.Live).Move(-o.Value.AmountDue)}, source: collect.Source{Payer: from.ID}, phone: from.Phone, person: from.ID,
					payment: payment.Payment{PaymentMethod: payment.ServiceWallet, Phone: &masked},
				})
			})
			return err
		})
		return done, err
	})
}

// pdf is a stored document. Its id is the invoice's or, for a credit note, the refund's.
type pdf struct {
	// Of is the digest of the contents that it was made from.
	Of   []byte `json:"of"`
	Data []byte `json:"data"`
}

var pdfs = storage.NewCollection[pdf]("invoice_pdfs", nil)

func (s *Service) PDFURL(ctx context.Context, caller api.Caller, id string) (string, error) {
	v, err := s.Get(ctx, caller, id)
	if err != nil {
		return "", err
	}
	if v.PDF != nil {
		return *v.PDF, nil
	}
	address := v.HostedURL + "/pdf"
	if !caller.Writes("invoices") {
		return address, nil
	}
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		o.Value.PDF = &address
		return s.save(tx, o)
	})
	return address, err
}

func (s *Service) PDFFile(ctx context.Context, caller api.Caller, id string) (data []byte, name string, err error) {
	var token string
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err == nil {
			token = o.Value.Token
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return s.HostedPDF(ctx, token)
}

func (s *Service) HostedPDF(ctx context.Context, token string) (data []byte, name string, err error) {
	h, err := s.findHosted(ctx, token)
	if err != nil {
		return nil, "", err
	}
	data, err = s.document(ctx, h.Caller, h.Invoice.ID, contents{invoice: &h.Invoice, merchant: &h.Merchant})
	return data, h.Invoice.Number + ".pdf", err
}

// layoutVersion is part of each digest. Raise it with a change of the layout, so that stored PDFs are made
// again.
const layoutVersion = 8

// document returns the PDF that is stored under an id, if it is current. Otherwise it makes and stores it.
func (s *Service) document(ctx context.Context, caller api.Caller, id string, c contents) ([]byte, error) {
	if c.merchant.HasLogo {
		logo, err := s.config.Accounts.Logo(ctx, s.engine, c.merchant.ID)
		if err != nil && api.CodeOf(err) != api.ResourceMissing {
			return nil, err
		}
		c.logo = logo
	}
	of, err := c.digest()
	if err != nil {
		return nil, err
	}
	var kept *storage.Object[pdf]
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		kept, err = pdfs.Get(tx, engine.Scope(caller), id)
		return err
	})
	switch {
	case err == nil && bytes.Equal(kept.Value.Of, of):
		return kept.Value.Data, nil
	case err != nil && !errors.Is(err, storage.ErrNotFound):
		return nil, fmt.Errorf("invoice: read PDF: %w", err)
	}
	var data []byte
	err = s.renders.Run(ctx, func() (err error) {
		data, err = render(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		// Meanwhile the draft may have been deleted, or the customer whom the document shows.
		if is, err := s.isCurrent(tx, c, of); err != nil || !is {
			return err
		}
		o, err := pdfs.GetOrNew(tx, engine.Scope(caller), id)
		if err == nil {
			o.Value = pdf{Of: of, Data: data}
			err = pdfs.Put(tx, o)
		}
		if err != nil {
			return fmt.Errorf("invoice: keep PDF: %w", err)
		}
		return nil
	})
	return data, err
}

// isCurrent reports whether the contents, with the invoice as it is now, still have this digest.
func (s *Service) isCurrent(tx *engine.Tx, c contents, digest []byte) (bool, error) {
	o, err := s.get(tx, engine.Scope(tx.Caller), c.invoice.ID)
	if api.CodeOf(err) == api.ResourceMissing {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.invoice = &o.Value.Invoice
	now, err := c.digest()
	return bytes.Equal(now, digest), err
}

// digest returns a hash of all that the document is made from.
func (c *contents) digest() ([]byte, error) {
	text, err := plainjson.Marshal(struct {
		Version  int
		Invoice  *invoice.Invoice
		Taxes    []invoice.TaxRow
		Sums     []invoice.Sum
		Outside  *string
		Refunded int64
		Note     *invoice.CreditNote
		Merchant *account.Merchant
		Logo     *account.Logo
	}{
		layoutVersion, c.invoice, c.invoice.TaxRows(), c.invoice.Sums(), c.invoice.PaidOutOfBand, c.invoice.AmountRefunded, c.creditNote,
		c.merchant, c.logo,
	})
	if err != nil {
		return nil, fmt.Errorf("invoice: digest: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}
