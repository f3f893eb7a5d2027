package hubtel_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/smssuite"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider/hubtel"
	"github.com/seed-7082ffec/payments/provider/hubtel/hubteltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var gateway = smssuite.Gateway{
	New: func(secret, base string, h *http.Client) (message.Texter, error) {
		return hubtel.New(hubtel.Config{
			ClientID: hubteltest.ClientID, ClientSecret: secret, Sender: "Volta", BaseURL: base, HTTPClient: h,
		})
	},
	Fake: hubteltest.New, Secret: hubteltest.ClientSecret,
}

func TestGateway(t *testing.T) { gateway.Run(t) }

// Each answer has its meaning, and no error quotes the number, the text or the secret.
func TestAnswers(t *testing.T) {
	quote := smssuite.Quote + hubteltest.ClientSecret
	gateway.Answers(t, map[string]smssuite.Answer{
		`{"status":0,"messageId":"1","statusDescription":"request submitted successfully"}`: {Status: 201, Taken: true},
		`{"Status":"0","MessageId":"1"}`:                                               {Status: 200, Taken: true},
		`{"message":"ok","responseCode":"0000","data":{"status":"0","messageId":"1"}}`: {Status: 200, Taken: true},
		`{"messageId":"1"}`:            {Status: 200, Taken: true},
		`{"status":0,"data":"ok"}`:     {Status: 200, Taken: true},
		`{"status":0,"data":[]}`:       {Status: 200, Taken: true},
		`{"data":[{"status":0}]}`:      {Status: 200, Says: "200"},
		`{"message":"ok"}`:             {Status: 200, Says: "200"},
		`{"status":2,"messageId":"1"}`: {Status: 200, Says: "200 2"},
		`{"status":"` + quote + `"}`:   {Status: 200, Says: "200"},
		`<html>` + quote:               {Status: 200, Says: "200"},
		``:                             {Status: 200, Says: "200"},
		`{"status":0}`:                 {Status: 302, Says: "302"},
		`{"status":1,"statusDescription":"` + quote + `"}`: {Status: 400, Never: true, Says: "number"},
		`{"status":3,"statusDescription":"` + quote + `"}`: {Status: 400, Never: true, Says: "long"},
		`{"status":6,"statusDescription":"` + quote + `"}`: {Status: 400, Never: true, Says: "text"},
		`{"status":4,"statusDescription":"` + quote + `"}`: {Status: 400, Says: "400 4"},
		`{"status":1,"messageId":"2"}`:                     {Status: 500, Says: "500 1"},
		`{"status":401}`:                                   {Status: 401, Says: "secret"},
		`{"status":12}`:                                    {Status: 402, Says: "credit"},
		`{"status":403}`:                                   {Status: 403, Says: "list"},
		`{"status":429}`:                                   {Status: 429, Says: "many"},
		`{"status":0,"messageId":"3"}`:                     {Status: 503, Says: "503"},
	})
}

func TestConfig(t *testing.T) {
	good := hubtel.Config{ClientID: "id", ClientSecret: "very-secret-key", Sender: "Volta"}
	c := must.Get(hubtel.New(good))(t)
	for _, change := range []func(*hubtel.Config){
		func(c *hubtel.Config) { c.ClientID = "" },
		func(c *hubtel.Config) { c.ClientSecret = "" },
		func(c *hubtel.Config) { c.Sender = "" },
		func(c *hubtel.Config) { c.Sender = "Volta wallet" },
		func(c *hubtel.Config) { c.Sender = "Vɔlta" },
	} {
		bad := good
		change(&bad)
		_, err := hubtel.New(bad)
		expect.True(t, err != nil, "%v passes", bad)
		expect.True(t, !strings.Contains(fmt.Sprint(err), good.ClientSecret), "%v: the error tells the secret: %v", bad, err)
	}
	conformance.HidesSecrets(t, []string{good.ClientSecret}, good, c)
	expect.True(t, strings.Contains(fmt.Sprint(good), "Volta"), "%v", good)
	expect.True(t, !strings.Contains(fmt.Sprintf("%+v", good), good.ClientSecret), "%v", good)
}
