package personal_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/personal"
)

func TestRedact(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"cus_1","object":"customer","name":"A \"B\" ɛ","email":"a@b.c","phone_number":"+2","address":"x","metadata":{"a":{"b":[1]}},"livemode":false}`: `{"id":"cus_1","object":"customer","name":"","email":"","phone_number":"","address":"","metadata":{},"livemode":false}`,
		`{"customer_name":"A","object":"invoice","customer":"cus_1","total":12345678901234567890,"lines":{"data":[{"name":"kept"}]},"name":"kept"}`:           `{"customer_name":null,"object":"invoice","customer":"cus_1","total":12345678901234567890,"lines":{"data":[{"name":"kept"}]},"name":"kept"}`,
		`{"object":"customer"}`:              ``,
		`{"object":"payment","name":"Shop"}`: ``,
		`{"id":"evt_1","object":"event","data":{"previous":1,"object":{"object":"customer","name":"A"}}}`: `{"id":"evt_1","object":"event","data":{"previous":1,"object":{"object":"customer","name":""}}}`,
		`{"id":"cus_1","object":"customer" } `: `{"id":"cus_1","object":"customer"}`,
	} {
		if want == "" {
			want = doc
		}
		got, err := personal.Redact([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", doc, got, err)
		}
		again, err := personal.Redact(got)
		if err != nil || string(again) != want {
			t.Errorf("%s: redacted again %s, %v", doc, again, err)
		}
	}
	for _, wrong := range []string{``, `[]`, `{"object":"event","data":[]}`, `{"object":"event","data":{"object":5}}`, `{"object":"customer"`, `{"object":5}`} {
		if _, err := personal.Redact([]byte(wrong)); err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
}

func TestOf(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"cus_1","object":"customer"}`:                                               "cus_1",
		`{"id":"inv_1","object":"invoice","customer":"cus_2"}`:                             "cus_2",
		`{"id":"inv_1","object":"invoice","customer":null}`:                                "",
		`{"id":"inv_1","object":"invoice"}`:                                                "",
		`{"id":5,"object":"customer"}`:                                                     "",
		`{"id":"evt_1","object":"event","data":{"object":{"id":"a","object":"customer"}}}`: "a",
		`{"id":"evt_1","object":"event","data":{"object":{"id":"a","object":"payment"}}}`:  "",
		`{"id":"po_1","object":"payout","metadata":{"object":"customer"}}`:                 "",
		`{"id":"po_1","object":"payout"}`:                                                  "",
		`[{"object":"customer"}]`:                                                          "",
		``:                                                                                 "",
	} {
		if got := personal.Of([]byte(doc)); got != want {
			t.Errorf("%s: got %q", doc, got)
		}
	}
}
