// Package personal finds the copies of people's data that the library keeps, and
// takes the data out of them when the person is deleted.
//
// Copies arise where an object is kept as it was: in the snapshot of an event and
// in the answer of an idempotency key. An object that holds a customer's data
// says so as a [Holder], its copies are kept with the customer's id, and so they
// are found again. This package owns that rule and the list of deleted customers;
// who is deleted, and what happens to the objects themselves, is the business of
// the packages that have them.
package personal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Holder is an object of the interface that holds personal data of a customer.
type Holder interface {
	// Person returns the customer's id, or "" for an object without any.
	Person() string
}

// Erasure says that a customer was deleted. Its id is the customer's; it stays
// for good, and holds no personal data once the work is done.
type Erasure struct {
	// Recipients are the addresses and numbers that the customer had, to which
	// nothing is sent any more.
	Recipients []string `json:"recipients,omitempty"`
	// Request and Key are of the call that deleted the customer.
	Request string `json:"request,omitempty"`
	Key     string `json:"key,omitempty"`
	// Due is when the copies are to be gone through; nil when that is done.
	Due *api.Time `json:"due,omitempty"`
}

// Erasures are the deleted customers.
var Erasures = storage.NewCollection("erasures", []storage.Field[Erasure]{
	{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value: func(e *Erasure) any {
			if e.Due == nil {
				return nil
			}
			return e.Due.Time
		},
	},
}, storage.DueBy("due"))

// Copy returns what may be kept of an object whose JSON is doc, and whose data it
// holds; "" for nobody's. Of a customer who was deleted nothing personal is kept.
func Copy(tx storage.ReadTx, scope storage.Scope, object any, doc []byte) (kept []byte, person string, err error) {
	h, ok := object.(Holder)
	if !ok {
		return doc, "", nil
	}
	if person = h.Person(); person == "" {
		return doc, "", nil
	}
	_, err = Erasures.Get(tx, scope, person)
	if errors.Is(err, storage.ErrNotFound) {
		return doc, person, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("personal: read erasure: %w", err)
	}
	kept, err = Redact(doc)
	return kept, "", err
}

// blanks are the members that hold personal data, by the type of the object, with
// what stands in their place afterwards.
var blanks = map[string]map[string]string{
	"customer": {
		"name": `""`, "email": `""`, "phone_number": `""`, "address": `""`, "metadata": `{}`,
	},
	"invoice": {
		"customer_name": `null`, "customer_email": `null`, "customer_phone": `null`, "customer_address": `null`,
	},
}

// Redact returns the JSON of an object without its personal data. All else, and
// the order of the members, stays as it is.
func Redact(doc []byte) ([]byte, error) {
	var head struct {
		Object string `json:"object"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return nil, fmt.Errorf("personal: redact: %w", err)
	}
	blank := blanks[head.Object]
	if blank == nil {
		return doc, nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil, fmt.Errorf("personal: redact: %w", err)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for d.More() {
		var value json.RawMessage
		name, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("personal: redact: %w", err)
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("personal: redact: %w", err)
		}
		if text, ok := name.(string); ok && blank[text] != "" {
			value = json.RawMessage(blank[text])
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
