// Package hubteltest is Hubtel's SMS gateway for tests.
//
//	fake := hubteltest.New(1)
//	server := httptest.NewServer(fake)
//	client, err := hubtel.New(hubtel.Config{
//		ClientID: hubteltest.ClientID, ClientSecret: hubteltest.ClientSecret, Sender: "Volta", BaseURL: server.URL,
//	})
package hubteltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/seed-7082ffec/payments/provider/smstest"
)

// ClientID and ClientSecret are the keys that the fake accepts.
const (
	ClientID     = "hubteltest-id"
	ClientSecret = "hubteltest-secret"
)

// New returns a fake of Hubtel's SMS gateway. It takes only requests of the documented form.
func New(seed uint64) *smstest.Fake {
	return smstest.New(seed, smstest.Language{Read: read, Write: write})
}

var number = regexp.MustCompile(`^233[0-9]{9}$`)

func read(r *http.Request, body []byte) (m smstest.Message, v smstest.Verdict) {
	var in struct{ From, To, Content string }
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	id, secret, _ := r.BasicAuth()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/messages/send" || r.Header.Get("Content-Type") != "application/json":
		return m, smstest.Invalid
	case id != ClientID || secret != ClientSecret:
		return m, smstest.BadKey
	case decoder.Decode(&in) != nil || in.Content == "" || in.From == "" || len(in.From) > 11 || !number.MatchString(in.To):
		return m, smstest.Invalid
	}
	return smstest.Message{Sender: in.From, To: in.To, Text: in.Content}, smstest.Taken
}

func write(_ smstest.Message, v smstest.Verdict, n int) (int, any) {
	type object = map[string]any
	refuse := func(status, code int, why string) (int, any) {
		return status, object{"status": code, "statusDescription": why}
	}
	switch v {
	case smstest.Taken:
		return http.StatusCreated, object{
			"rate": 0.03, "messageId": fmt.Sprintf("00000000-0000-4000-8000-%012d", n), "status": 0, "networkId": "62001",
			"clientReference": nil, "statusDescription": "request submitted successfully",
		}
	case smstest.NotANumber:
		return refuse(http.StatusBadRequest, 1, "Invalid destination")
	case smstest.BadKey:
		return refuse(http.StatusUnauthorized, 401, "Unauthorized")
	case smstest.NoCredit:
		return refuse(http.StatusPaymentRequired, 12, "Payment required")
	}
	return refuse(http.StatusBadRequest, 0, "Bad request")
}
