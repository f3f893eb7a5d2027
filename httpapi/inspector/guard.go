package inspector

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/seed-7082ffec/payments/internal/ids"
)

// errForged is the refusal of a form that is not ours.
var errForged = errors.New("inspector: the form is not ours")

const (
	nonceChars = 22
	macChars   = 32
)

// token is what a page's forms carry: a nonce, which makes a form that is posted
// twice act once, by the services' idempotency keys, and a MAC over it and the
// merchant, which other websites cannot know.
func (v *visit) token() string {
	nonce := ids.Secret(rand.Reader, nonceChars)
	return nonce + v.mac(nonce)
}

func (v *visit) mac(nonce string) string {
	h := hmac.New(sha256.New, v.in.config.Key)
	h.Write([]byte("inspector form\x00" + v.caller.Merchant + "\x00" + nonce))
	return hex.EncodeToString(h.Sum(nil))[:macChars]
}

// maxForm is the longest form that is read, in bytes.
const maxForm = 64 << 10

// posted reads a form, and refuses one that another website made: by what the
// browser says of where it comes from, and by its token. It returns the token's
// nonce.
func (v *visit) posted(w http.ResponseWriter) (nonce string, err error) {
	if err := v.in.cross.Check(v.Request); err != nil {
		return "", errForged
	}
	v.Body = http.MaxBytesReader(w, v.Body, maxForm)
	if err := v.ParseForm(); err != nil {
		return "", errForged
	}
	token := v.PostForm.Get("token")
	if len(token) != nonceChars+macChars {
		return "", errForged
	}
	nonce = token[:nonceChars]
	if !hmac.Equal([]byte(token[nonceChars:]), []byte(v.mac(nonce))) {
		return "", errForged
	}
	return nonce, nil
}
