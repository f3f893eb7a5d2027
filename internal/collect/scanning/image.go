package scanning

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/qrcode"
)

func (s *Service) Image(ctx context.Context, caller api.Caller, id string, p qrcode.ImageParams) ([]byte, error) {
	if p.Size == 0 {
		p.Size = qrcode.DefaultSize
	}
	if p.Size < qrcode.MinSize || p.Size > qrcode.MaxSize {
		return nil, api.Invalid("size", "size must be an integer from %d to %d.", qrcode.MinSize, qrcode.MaxSize)
	}
	if p.Format != qrcode.PNG && p.Format != qrcode.SVG {
		return nil, api.Invalid("format", "format must be png or svg.")
	}
	c, err := s.Get(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return c.Image(p.Format, p.Size)
}
