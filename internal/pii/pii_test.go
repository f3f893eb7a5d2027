package pii_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
)

func TestRedact(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"cus_1","object":"customer","name":"A \"B\" ɛ","email":"a@b.c","phone_number":"+2","address":"x","metadata":{"a":{"b":[1]}},"livemode":false}`: `{"id":"cus_1","object":"customer","name":"","email":"","phone_number":"","address":"","metadata":{},"livemode":false}`,
		`{"customer_name":"A","object":"invoice","customer":"cus_1","total":12345678901234567890,"lines":{"data":[{"name":"kept"}]},"name":"kept"}`:           `{"customer_name":null,"object":"invoice","customer":"cus_1","total":12345678901234567890,"lines":{"data":[{"name":"kept"}]},"name":"kept"}`,
		`{"object":"customer"}`:              ``,
		`{"object":"payment","name":"Shop"}`: ``,
		`{"object":"payment","phone":"024****567","phone_number":"024****567","customer":"cus_1"}`:        `{"object":"payment","phone":null,"phone_number":null,"customer":"cus_1"}`,
		`{"id":"evt_1","object":"event","data":{"previous":1,"object":{"object":"customer","name":"A"}}}`: `{"id":"evt_1","object":"event","data":{"previous":1,"object":{"object":"customer","name":""}}}`,
		`{"id":"cus_1","object":"customer" } `:                                                            `{"id":"cus_1","object":"customer"}`,
	} {
		if want == "" {
			want = doc
		}
		got, err := pii.Redact([]byte(doc))
		expect.NoError(t, err, "%s", doc)
		expect.True(t, string(got) == want, "%s: got %s, %v", doc, got, err)
		again, err := pii.Redact(got)
		expect.NoError(t, err, "%s", doc)
		expect.Equal(t, string(again), want, "%s: redacted again", doc)
	}
	for _, wrong := range []string{``, `[]`, `{"object":"event","data":[]}`, `{"object":"event","data":{"object":5}}`, `{"object":"customer"`, `{"object":5}`} {
		expect.True(t, testkit.Err(pii.Redact([]byte(wrong))) != nil, "%q passes", wrong)
	}
}

func TestOf(t *testing.T) {
	for doc, want := range map[string]string{
		`{"id":"cus_1","object":"customer"}`:                                                                 "cus_1",
		`{"id":"inv_1","object":"invoice","customer":"cus_2"}`:                                               "cus_2",
		`{"id":"inv_1","object":"invoice","customer":null}`:                                                  "",
		`{"id":"inv_1","object":"invoice"}`:                                                                  "",
		`{"id":5,"object":"customer"}`:                                                                       "",
		`{"id":"evt_1","object":"event","data":{"object":{"id":"a","object":"customer"}}}`:                   "a",
		`{"id":"evt_1","object":"event","data":{"object":{"id":"a","object":"payment"}}}`:                    "",
		`{"id":"po_1","object":"payout","metadata":{"object":"customer"}}`:                                   "",
		`{"id":"po_1","object":"payout"}`:                                                                    "",
		`{"id":"pay_1","object":"payment","customer":"cus_3"}`:                                               "cus_3",
		`{"id":"pay_1","object":"payment","customer":null}`:                                                  "",
		`{"id":"evt_1","object":"event","data":{"object":{"id":"a","object":"payment","customer":"cus_3"}}}`: "cus_3",
		`[{"object":"customer"}]`:                                                                            "",
		``:                                                                                                   "",
	} {
		expect.Equal(t, pii.Of([]byte(doc)), want, "%s", doc)
	}
}

func TestRedactObject(t *testing.T) {
	ids := map[string]bool{"acc_1": true, "pay_1": true}
	for doc, want := range map[string]string{
		`{"object":"consumer","account_id":"acc_1","service_id":"SVC1","phone_number":"+233241112221","balance":5}`: `{"object":"consumer","account_id":"acc_1","service_id":"SVC1","phone_number":"","balance":5}`,
		`{"object":"cash_agent","account_id":"acc_1","phone_number":"+233241112221"}`:                               `{"object":"cash_agent","account_id":"acc_1","phone_number":""}`,
		`{"id":"acc_1","name":"Ama","phone_number":"+233241112221"}`:                                                `{"id":"acc_1","name":"","phone_number":""}`,
		`{"id":"pay_1","object":"payment","phone":"024****221","phone_number":"024****221"}`:                        `{"id":"pay_1","object":"payment","phone":null,"phone_number":null}`,
		`{"id":"pay_1","object":"payment","phone":null}`:                                                            `{"id":"pay_1","object":"payment","phone":null}`,
		`{"object":"consumer","account_id":"acc_2","phone_number":"+233241112222"}`:                                 ``,
		`{"object":"other","account_id":"acc_1","phone_number":"+233241112222"}`:                                    ``,
		`{"id":"acc_1","object":"consumer","account_id":"acc_2","phone_number":"+233241112222"}`:                    ``,
		`{"object":"service_id_lookup","service_id":"acc_1","name":"Ama M."}`:                                       `{"object":"service_id_lookup","service_id":"acc_1","name":""}`,
		`{"object":"account_name_lookup","account_name":"Ama M.","number":"pay_1"}`:                                 `{"object":"account_name_lookup","account_name":"","number":"pay_1"}`,
		`{"object":"qr_resolve","account_id":"acc_2","display_name":"Ama M."}`:                                      ``,
		`[]`: ``,
	} {
		of := want != ""
		if !of {
			want = doc
		}
		got, is, err := pii.RedactObject([]byte(doc), ids)
		expect.NoError(t, err, "%s", doc)
		expect.True(t, string(got) == want, "%s: got %s, %t, %v", doc, got, is, err)
		expect.Equal(t, is, of, "%s", doc)
	}
}

func TestAccountIDsAreMasked(t *testing.T) {
	for id, want := range map[string]string{"acc_0123456789": "acc_****6789", "a": "acc_****a"} {
		expect.Equal(t, pii.MaskAccount(id), want, "%q", id)
	}
}
