package qrcode

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// ConsumerCodec converts the id of a consumer code to the payload in the QR code, and back. A host
// whose wallets have their own payload format implements it. It must be safe for concurrent use and
// must not use the network.
type ConsumerCodec interface {
	// Encode returns the payload for the consumer code with that id.
	Encode(live bool, id string) (string, error)
	// Decode returns the id of the consumer code that a payload names. It fails with ErrPayload
	// for text that is not in this format. It fails with ErrNotConsumer for anything else: a
	// forged payload, one of the other mode, or one that is not a consumer's.
	Decode(live bool, payload string) (id string, err error)
}

// The errors of a payload.
var (
	ErrPayload     = errors.New("qrcode: not a payload")
	ErrNotConsumer = errors.New("qrcode: not a consumer's payload")
)

// maxPayload bounds the length of a payload, in characters; a QR code can hold 2,953.
const maxPayload = 3000

// payload is the text inside the base64: version, entity, code and MAC. The
// names are short because every character makes the picture denser.
type payload struct {
	Version int    `json:"v"`
	Entity  string `json:"e"`
	Code    string `json:"c"`
	MAC     string `json:"m"`
}

const (
	payloadVersion = 1
	entityConsumer = "consumer"
	macBytes       = 16 // 128 bits of HMAC-SHA256
)

// macCodec is the codec of the library: standard base64 of a compact JSON text with a MAC under
// the server's key, which prevents forgeries.
type macCodec struct{ keys [][]byte }

// NewCodec returns the library's codec. key is the server's secret of at least 32 bytes, for new
// payloads. The codec also accepts payloads made under one of fallback, and refuses all others.
func NewCodec(key []byte, fallback ...[]byte) ConsumerCodec {
	return &macCodec{keys: append([][]byte{key}, fallback...)}
}

func (c *macCodec) Encode(live bool, id string) (string, error) {
	text, err := json.Marshal(payload{
		Version: payloadVersion, Entity: entityConsumer, Code: id,
		MAC: mac(c.keys[0], live, entityConsumer, id),
	})
	if err != nil {
		return "", fmt.Errorf("qrcode: encode payload: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}

func (c *macCodec) Decode(live bool, text string) (string, error) {
	if len(text) > maxPayload {
		return "", ErrPayload
	}
	// The decoder skips line breaks, which a payload must not have.
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) != len(text) {
		return "", ErrPayload
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return "", ErrNotConsumer
	}
	if p.Version != payloadVersion || p.Entity != entityConsumer {
		return "", ErrNotConsumer
	}
	for _, key := range c.keys {
		// Several texts decode to the same bytes, so the texts are compared.
		if hmac.Equal([]byte(p.MAC), []byte(mac(key, live, p.Entity, p.Code))) {
			return p.Code, nil
		}
	}
	return "", ErrNotConsumer
}

func mac(key []byte, live bool, entity, code string) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "consumer-qr\x00%d\x00%t\x00%s\x00%s", payloadVersion, live, entity, code)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:macBytes])
}
