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

// errInvalidForm refuses a form without a valid token.
var errInvalidForm = errors.New("inspector: the form is not ours")

const nonceChars, macChars = 22, 32

// token returns the token of a page's forms: a nonce and a MAC over it and the merchant.
// The nonce becomes the idempotency key, so a form that is posted twice acts once. Other
// websites cannot make the MAC.
func (v *visit) token() string {
	nonce := ids.Secret(rand.Reader, nonceChars)
	return nonce + v.mac(nonce)
}

func (v *visit) mac(nonce string) string {
	h := hmac.New(sha256.New, v.in.config.Key)
	h.Write([]byte("inspector form\x00" + v.caller.Merchant + "\x00" + nonce))
	return hex.EncodeToString(h.Sum(nil))[:macChars]
}

// maxForm bounds a form in bytes.
const maxForm = 64 << 10

// checkForm parses a form and returns the nonce of its token. It refuses a form of another
// website, by the browser's headers and by the token.
func (v *visit) checkForm(w http.ResponseWriter) (nonce string, err error) {
	v.Body = http.MaxBytesReader(w, v.Body, maxForm)
	if v.in.cross.Check(v.Request) != nil || v.ParseForm() != nil {
		return "", errInvalidForm
	}
	token := v.PostForm.Get("token")
	if len(token) != nonceChars+macChars || !hmac.Equal([]byte(token[nonceChars:]), []byte(v.mac(token[:nonceChars]))) {
		return "", errInvalidForm
	}
	return token[:nonceChars], nil
}
