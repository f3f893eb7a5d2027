package invoicing

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // a logo is a PNG or a JPEG picture
	_ "image/png"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/invoice"
)

// contents is what a document is made of.
type contents struct {
	invoice  *invoice.Invoice
	merchant *account.Merchant
	// creditNote is set where the document is a credit note of the invoice.
	creditNote *invoice.CreditNote
	logo       *account.Logo
}

// number returns the number of the invoice or credit note.
func (c *contents) number() string {
	if c.creditNote != nil {
		return c.creditNote.Number
	}
	return c.invoice.Number
}

// render makes the PDF of a document.
func render(c contents) ([]byte, error) {
	d, err := layOut(c)
	if err != nil {
		return nil, err
	}
	data, err := d.Bytes()
	if err != nil {
		return nil, fmt.Errorf("invoice: %w", err)
	}
	return data, nil
}

// maxLogoSide and maxLogoPixels bound a logo: a small file can hold a huge picture.
const (
	maxLogoSide   = 4096
	maxLogoPixels = 4 << 20
)

func decodeLogo(data []byte) (image.Image, error) {
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxLogoSide || size.Height > maxLogoSide || size.Width*size.Height > maxLogoPixels {
		return nil, fmt.Errorf("a logo of %d by %d pixels", size.Width, size.Height)
	}
	logo, _, err := image.Decode(bytes.NewReader(data))
	return logo, err
}
