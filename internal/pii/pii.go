// Package pii finds the copies of people's data that the library keeps, and removes the data when
// the person is deleted.
//
// A copy arises where the library stores an object's state: in the snapshot of an event and in
// the answer of an idempotency key. The library stores the customer's id with each copy of a
// customer's data, and finds it by that id. This package owns that rule and the list of deleted
// customers. The packages that own the objects delete them.
package pii

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// Erasure says that a customer was deleted. Its id is the customer's. It stays for good, and
// holds no personal data once the work is done.
type Erasure struct {
	// Request and IdempotencyKey belong to the call that deleted the customer.
	Request        string `json:"request,omitempty"`
	IdempotencyKey string `json:"key,omitempty"`
	// Due is the time at which the job removes the copies; nil once that is done.
	Due *api.Time `json:"due,omitempty"`
}

// Erasures are the deleted customers.
var Erasures = storage.NewCollection("erasures", []storage.Field[Erasure]{
	storage.NullTimeColumn("due", func(e *Erasure) *api.Time { return e.Due }),
}, storage.DueBy("due"))

// Holder is an object that may hold the data of a customer whom its JSON does not name.
type Holder interface {
	// PersonID returns the id of that customer, or "".
	PersonID() string
}

// ForStorage returns the form of an object to store as JSON, and the customer whose data it holds; ""
// for none. It removes the personal data of a deleted customer.
func ForStorage(tx storage.ReadTx, scope storage.Scope, object any, doc []byte) (kept []byte, person string, err error) {
	if person = Of(doc); person == "" {
		if holder, ok := object.(Holder); ok {
			person = holder.PersonID()
		}
	}
	if person == "" {
		return doc, "", nil
	}
	deleted, err := Deleted(tx, scope, person)
	if err != nil {
		return nil, "", err
	}
	if !deleted {
		return doc, person, nil
	}
	kept, err = Redact(doc)
	return kept, "", err
}

// Deleted reports whether a customer was deleted.
func Deleted(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	_, err := Erasures.Get(tx, scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("pii: read erasure: %w", err)
	}
	return true, nil
}

// Each document with personal data contains one of these texts, in the form that this library
// writes. Most documents contain none, and Of does not parse them. Nor does it parse a payment or
// a checkout session without a customer.
var (
	marks = [][]byte{
		[]byte(`"object":"customer"`), []byte(`"object":"invoice"`), []byte(`"object":"subscription"`),
		[]byte(`"object":"payment"`), []byte(`"object":"checkout_session"`),
	}
	noCustomer = []byte(`"customer":null`)
)

func marked(doc []byte) bool {
	return bytes.Contains(doc, marks[0]) || bytes.Contains(doc, marks[1]) || bytes.Contains(doc, marks[2]) ||
		(bytes.Contains(doc, marks[3]) || bytes.Contains(doc, marks[4])) && !bytes.Contains(doc, noCustomer)
}

// Of returns the id of the customer whose data the JSON of an object holds, or "".
func Of(doc []byte) string {
	if !marked(doc) {
		return ""
	}
	var o struct {
		Object   string          `json:"object"`
		ID       json.RawMessage `json:"id"`
		Customer json.RawMessage `json:"customer"`
		Data     struct {
			Object json.RawMessage `json:"object"`
		} `json:"data"`
	}
	// An object of the host may have any form.
	if json.Unmarshal(doc, &o) != nil {
		return ""
	}
	var id string
	switch o.Object {
	case "customer":
		_ = json.Unmarshal(o.ID, &id) // an id that is not a text counts as none
	case "invoice", "subscription", "payment", "checkout_session":
		_ = json.Unmarshal(o.Customer, &id)
	case "event":
		return Of(o.Data.Object)
	}
	return id
}

// blanks are the members with personal data, by the type of the object, and the values that
// replace them.
var blanks = map[string]map[string]string{
	"customer": {
		"name": `""`, "email": `""`, "phone_number": `""`, "address": `""`, "metadata": `{}`,
	},
	"invoice": {
		"customer_name": `null`, "customer_email": `null`, "customer_phone": `null`, "customer_address": `null`,
	},
	"subscription": {
		"phone_number": `null`,
	},
	"checkout_session": {
		"customer_name": `null`, "customer_email": `null`, "customer_phone": `null`,
	},
	"payment": {
		"phone": `null`, "phone_number": `null`,
	},
}

// Redact returns the JSON of an object without its personal data. All other members, and their
// order, stay.
func Redact(doc []byte) ([]byte, error) {
	var head struct {
		Object string `json:"object"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return nil, fmt.Errorf("pii: redact: %w", err)
	}
	if head.Object == "event" {
		return plainjson.Edit(doc, func(name string, data json.RawMessage) (json.RawMessage, error) {
			if name != "data" {
				return data, nil
			}
			return plainjson.Edit(data, func(name string, snapshot json.RawMessage) (json.RawMessage, error) {
				if name != "object" {
					return snapshot, nil
				}
				return Redact(snapshot)
			})
		})
	}
	blank := blanks[head.Object]
	if blank == nil {
		return doc, nil
	}
	return plainjson.Edit(doc, func(name string, value json.RawMessage) (json.RawMessage, error) {
		if instead := blank[name]; instead != "" {
			return json.RawMessage(instead), nil
		}
		return value, nil
	})
}

// lookups are the answers of lookups that hold a name. They have no id: one member says whose the name
// is, and another is the name.
var lookups = map[string]struct{ of, name string }{
	"service_id_lookup":   {"service_id", "name"},
	"qr_resolve":          {"account_id", "display_name"},
	"account_name_lookup": {"number", "account_name"},
}

// redactLookup removes the name from the answer of a lookup if it is of one of the given ids.
func redactLookup(doc []byte, ids map[string]bool, of, name string) (kept []byte, is bool, err error) {
	kept, err = plainjson.Edit(doc, func(member string, value json.RawMessage) (json.RawMessage, error) {
		var text string
		if member == of && json.Unmarshal(value, &text) == nil {
			is = ids[text]
		}
		if member == name {
			value = json.RawMessage(`""`)
		}
		return value, nil
	})
	if err != nil || !is {
		return doc, false, err
	}
	return kept, true, nil
}

// MaskAccount hides the id of a consumer's account except for its last four characters.
func MaskAccount(id string) string {
	const shown = 4
	return "acc_****" + id[max(0, len(id)-shown):]
}

// RedactObject removes the personal data of the objects with the given ids from the JSON of a
// copy: a payment's payer, a transfer's payee, an account's holder. It reports whether the copy
// is of such an object, even if it holds no such data.
func RedactObject(doc []byte, ids map[string]bool) (kept []byte, is bool, err error) {
	var head struct {
		Object  string `json:"object"`
		ID      string `json:"id"`
		Account string `json:"account_id"`
	}
	if json.Unmarshal(doc, &head) != nil {
		return doc, false, nil // an object of the host
	}
	if head.Object == "event" {
		kept, err = plainjson.Edit(doc, func(name string, data json.RawMessage) (json.RawMessage, error) {
			if name != "data" {
				return data, nil
			}
			return plainjson.Edit(data, func(name string, snapshot json.RawMessage) (json.RawMessage, error) {
				if name == "object" {
					snapshot, is, err = RedactObject(snapshot, ids)
				}
				return snapshot, err
			})
		})
		return kept, is, err
	}
	if l, ok := lookups[head.Object]; ok {
		return redactLookup(doc, ids, l.of, l.name)
	}
	holder := head.Object == "" // the stored form of an account
	if head.Object == "consumer" || head.Object == "cash_agent" {
		holder, head.ID = true, head.Account // the answer of a test helper
	}
	if !ids[head.ID] {
		return doc, false, nil
	}
	kept, err = plainjson.Edit(doc, func(name string, value json.RawMessage) (json.RawMessage, error) {
		switch {
		case (head.Object == "payment" || head.Object == "checkout_session") && blanks[head.Object][name] != "":
			return json.RawMessage(blanks[head.Object][name]), nil
		case holder && (name == "name" || name == "phone_number"):
			return json.RawMessage(`""`), nil
		case name == "destination" && (head.Object == "payout" || head.Object == "disbursement"):
			return plainjson.Edit(value, func(name string, value json.RawMessage) (json.RawMessage, error) {
				if name == "name" {
					value = json.RawMessage(`""`)
				}
				return value, nil
			})
		}
		return value, nil
	})
	return kept, true, err
}
