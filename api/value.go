package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// Currency is the only currency of the API.
const Currency = "GHS"

// Time is a time whose JSON is RFC 3339 in UTC with milliseconds:
// "2026-01-31T08:15:00.000Z".
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At returns t rounded down to the millisecond, as the store keeps it.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AtOrNil returns At(t), or nil for the zero time.
func AtOrNil(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	at := At(t)
	return &at
}

// TextOrNil returns a pointer to s, or nil for the empty text.
func TextOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// String returns the time as its JSON has it.
func (t Time) String() string { return string(t.append(nil)) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b = t.append(b)
	return append(b, '"'), nil
}

// append writes the time in timeLayout. Package time writes RFC 3339 without looking at
// a layout, but not with a fixed number of digits of the second; letter by letter, the
// times were a third of the JSON of a disbursement.
func (t Time) append(b []byte) []byte {
	at := t.UTC()
	b = at.AppendFormat(b, time.RFC3339)
	ms := at.Nanosecond() / 1e6
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil // by convention of encoding/json
	}
	// A text of RFC 3339 has nothing to unescape.
	end := len(data) - 1
	if end < 1 || data[0] != '"' || data[end] != '"' {
		return errors.New("api: a time is a string")
	}
	parsed, err := time.Parse(time.RFC3339, string(data[1:end]))
	if err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}

// GHS is an amount in cedis whose JSON is a plain number: 150, 150.5. The
// decimal is exact; no float is involved in either direction.
type GHS struct{ decimal.Decimal }

// FromPesewas converts an amount in pesewas to GHS. A cedi has 100 pesewas.
func FromPesewas(n int64) GHS { return GHS{decimal.New(n, -2)} }

// MarshalJSON implements json.Marshaler.
func (a GHS) MarshalJSON() ([]byte, error) { return []byte(a.Decimal.String()), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (a *GHS) UnmarshalJSON(data []byte) error {
	if len(data) > 32 || bytes.ContainsAny(data, "eE\"") {
		return errors.New("api: an amount is a plain number")
	}
	d, err := decimal.NewFromString(string(data))
	if err != nil {
		return errors.New("api: an amount is a plain number")
	}
	a.Decimal = d
	return nil
}

// Number is an exact decimal whose JSON is a plain number: a quantity or a
// percentage.
type Number struct{ decimal.Decimal }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n.Decimal.String()), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error { return (*GHS)(n).UnmarshalJSON(data) }

// Metadata is the caller's own data on an object: at most 50 keys of at most
// 40 characters, with strings of at most 500 characters, numbers or booleans.
// Numbers read from JSON are json.Number, and go out as they came.
type Metadata map[string]any

// MarshalJSON implements json.Marshaler: nil is an empty object.
func (m Metadata) MarshalJSON() ([]byte, error) {
	if len(m) == 0 {
		return []byte("{}"), nil
	}
	return plainjson.Marshal(map[string]any(m))
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	if string(data) == "{}" {
		*m = Metadata{}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var plain map[string]any
	if err := d.Decode(&plain); err != nil {
		return err
	}
	*m = plain
	return nil
}

// Merge returns m changed by an update: a key given as nil or "" is dropped,
// every other one set. m itself stays as it is.
func (m Metadata) Merge(update Metadata) Metadata {
	merged := make(Metadata, len(m)+len(update))
	for k, v := range m {
		merged[k] = v
	}
	for k, v := range update {
		if v == nil || v == "" {
			delete(merged, k)
			continue
		}
		merged[k] = v
	}
	return merged
}

// Deleted is the answer to a successful delete.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
