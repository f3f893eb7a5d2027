package scanning

import (
	"errors"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/qrcode"
)

// decodePayload calls the codec and turns its errors into refusals.
func (s *Service) decodePayload(live bool, text string) (string, error) {
	if text == "" {
		return "", api.Missing("qr_payload")
	}
	id, err := s.codec.Decode(live, text)
	switch {
	case errors.Is(err, qrcode.ErrPayload):
		return "", api.Errorf(api.InvalidQR, "qr_payload", "qr_payload is not valid base64. Send the text of the consumer's QR code as it was scanned.").WithCause(err)
	case err != nil:
		return "", errNotConsumerCode().WithCause(err)
	}
	return id, nil
}

func errNotConsumerCode() *api.Error {
	return api.Errorf(api.InvalidConsumerQR, "qr_payload", "This is not the QR code of a consumer. Scan the code that the consumer's app shows.")
}
