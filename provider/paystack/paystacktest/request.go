package paystacktest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// forms are the fields of the bodies that Paystack documents: true for those that are required.
var forms = map[string]map[string]bool{
	"POST /transferrecipient": {"type": true, "name": true, "account_number": true, "bank_code": true, "currency": false, "description": false, "metadata": false},
	"POST /transfer":          {"source": true, "amount": true, "recipient": true, "reference": true, "reason": false, "currency": false},
	"POST /charge":            {"email": true, "amount": true, "currency": false, "reference": false, "mobile_money": false, "metadata": false},
	"POST /charge/submit_otp": {"otp": true, "reference": true},
	"POST /refund":            {"transaction": true, "amount": false, "currency": false, "customer_note": false, "merchant_note": false},
}

var (
	transferReference = regexp.MustCompile(`^[a-z0-9_-]{16,50}$`)
	chargeReference   = regexp.MustCompile(`^[A-Za-z0-9.=-]+$`)
)

// check compares a request with Paystack's documents.
func check(op, contentType string, query map[string][]string, body []byte) (in object, problem string) {
	form, posts := forms[op]
	if !posts {
		if len(body) > 0 {
			return nil, "a body"
		}
		for name, values := range query {
			if slices.Contains([]string{"page", "perPage", "transaction"}, name) {
				if _, err := strconv.ParseInt(values[0], 10, 64); err != nil {
					return nil, name + " is no integer"
				}
			}
			if _, err := time.Parse(time.RFC3339, values[0]); name == "from" && err != nil {
				return nil, name + " is no time"
			}
		}
		return nil, ""
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&in); err != nil || contentType != "application/json" {
		return nil, "no JSON"
	}
	for name, required := range form {
		if v, ok := in[name]; required && (!ok || v == "") {
			return nil, name + " is missing"
		}
	}
	for name, v := range in {
		_, known := form[name]
		number, isNumber := v.(json.Number)
		_, err := number.Int64()
		isObject := name == "mobile_money" || name == "metadata"
		_, ok := v.(object)
		switch {
		case !known:
			return nil, name + " is not documented"
		case isNumber != (name == "amount") || isNumber && err != nil:
			return nil, name + " has another type"
		case isObject != ok:
			return nil, name + " has another type"
		}
	}
	if in["amount"] != nil && integer(in, "amount") <= 0 {
		return nil, "the amount is not above 0"
	}
	reference, _ := in["reference"].(string)
	kind, _ := in["type"].(string)
	switch {
	case op == "POST /transfer" && !transferReference.MatchString(reference):
		return nil, "the reference has illegal special characters"
	case op == "POST /charge" && !chargeReference.MatchString(reference):
		return nil, "the reference has an invalid character"
	case op == "POST /transferrecipient" && kind != "mobile_money" && kind != "ghipss":
		return nil, "the type is not of Ghana"
	case in["currency"] != nil && in["currency"] != "GHS":
		return nil, "the currency is not GHS"
	}
	return in, ""
}

func str(in object, name string) string { s, _ := in[name].(string); return s }

func integer(in object, name string) int64 {
	n, _ := in[name].(json.Number)
	v, _ := n.Int64()
	return v
}
