// Package arkeseltest is an Arkesel for tests.
//
//	fake := arkeseltest.New(1)
//	server := httptest.NewServer(fake)
//	client, err := arkesel.New(arkesel.Config{APIKey: arkeseltest.APIKey, Sender: "Volta", BaseURL: server.URL})
package arkeseltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/seed-7082ffec/payments/provider/smstest"
)

// APIKey is the key that the fake accepts.
const APIKey = "arkeseltest-key"

// New returns a fake of Arkesel. It takes only requests of the documented form. As Arkesel does, it
// neither sends nor bills the messages of arkesel.Config.Sandbox: they are not among its Messages.
func New(seed uint64) *smstest.Fake {
	return smstest.New(seed, smstest.Language{Read: read, Write: write})
}

var number = regexp.MustCompile(`^233[0-9]{9}$`)

func read(r *http.Request, body []byte) (m smstest.Message, v smstest.Verdict) {
	var in struct {
		Sender     string   `json:"sender"`
		Message    string   `json:"message"`
		Recipients []string `json:"recipients"`
		Sandbox    bool     `json:"sandbox"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/api/v2/sms/send" || r.Header.Get("Content-Type") != "application/json":
		return m, smstest.Invalid
	case r.Header.Get("Api-Key") != APIKey:
		return m, smstest.BadKey
	case decoder.Decode(&in) != nil || in.Message == "" || in.Sender == "" || len(in.Sender) > 11 || len(in.Recipients) != 1 || !number.MatchString(in.Recipients[0]):
		return m, smstest.Invalid
	}
	m = smstest.Message{Sender: in.Sender, To: in.Recipients[0], Text: in.Message}
	if in.Sandbox {
		return m, smstest.Sandboxed
	}
	return m, smstest.Taken
}

func write(m smstest.Message, v smstest.Verdict, n int) (int, any) {
	type object = map[string]any
	refuse := func(status int, why string) (int, any) {
		return status, object{"status": "error", "message": why}
	}
	switch v {
	case smstest.Taken, smstest.Sandboxed:
		return http.StatusOK, object{"status": "success", "data": []object{{"recipient": m.To, "id": fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}}}
	case smstest.NotANumber:
		return http.StatusOK, object{"status": "success", "data": []object{{"invalid numbers": []string{m.To}}}}
	case smstest.BadKey:
		return refuse(http.StatusUnauthorized, "Authentication failed")
	case smstest.NoCredit:
		return refuse(http.StatusPaymentRequired, "Insufficient balance")
	}
	return refuse(http.StatusUnprocessableEntity, "Validation errors")
}
