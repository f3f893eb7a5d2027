package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	shopspring "github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

type place struct {
	Street string  `json:"street"`
	Note   string  `json:"note,omitempty"`
	Floor  *int    `json:"floor,omitempty"`
	Code   *string `json:"code"`
}

// crate has a field of each kind.
type crate struct {
	ID       string       `json:"id,omitempty"`
	Pieces   int64        `json:"pieces"`
	Fragile  bool         `json:"fragile"`
	Price    api.GHS      `json:"price"`
	Weight   *api.Number  `json:"weight"`
	To       place        `json:"to"`
	Via      []place      `json:"via"`
	Metadata api.Metadata `json:"metadata"`
	SentAt   api.Time     `json:"sent_at"`
	Gift     bool         `json:"gift,omitempty"`
}

// crateRecord is a stored crate.
type crateRecord struct {
	crate
	Route string `json:"route,omitempty"`
	Next  *crate `json:"next,omitempty"`
}

var crateRecords = newCrates()

func newCrates() *storage.Collection[crateRecord] {
	return storage.NewCollection[crateRecord]("crates", nil).
		Passthrough(func(r *crateRecord) any { return &r.crate })
}

var (
	texts   = rapid.OneOf(rapid.SampledFrom([]string{"", `","route":"`, "Ɛsi Ɔkɔ ₵", "<b>&amp;", "a\nb", `"\`, "é\u2029", "😀", "_"}), rapid.String())
	numbers = rapid.Custom(func(t *rapid.T) shopspring.Decimal {
		return shopspring.New(rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "digits"), rapid.Int32Range(-6, 3).Draw(t, "exponent"))
	})
	places = rapid.Custom(func(t *rapid.T) place {
		return place{
			Street: texts.Draw(t, "street"), Note: texts.Draw(t, "note"),
			Floor: rapid.Ptr(rapid.IntRange(-1, 99), true).Draw(t, "floor"), Code: rapid.Ptr(texts, true).Draw(t, "code"),
		}
	})
	crateValues = rapid.Custom(func(t *rapid.T) crate {
		return crate{
			ID: texts.Draw(t, "id"), Pieces: rapid.Int64().Draw(t, "pieces"), Fragile: rapid.Bool().Draw(t, "fragile"),
			Price: api.GHS{Decimal: numbers.Draw(t, "price")}, To: places.Draw(t, "to"), Gift: rapid.Bool().Draw(t, "gift"),
			Via: rapid.SliceOfN(places, 0, 2).Draw(t, "via"), SentAt: api.At(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "sent"))),
			Metadata: rapid.MapOfN(texts, rapid.Map(texts, func(s string) any { return s }), 0, 3).Draw(t, "metadata"),
		}
	})
)

// writeCrate returns the document of "p" after a transaction of a new store.
func writeCrate(t fataler, kind *storage.Kind, write func(storage.Tx) error) (document []byte) {
	t.Helper()
	ctx, store := context.Background(), memory.New()
	err := store.Define(ctx, kind)
	if err == nil {
		err = store.Update(ctx, write)
	}
	if err == nil {
		err = store.View(ctx, func(tx storage.ReadTx) error {
			r, err := tx.Get(kind, shop, "p")
			document = r.Data
			return err
		})
	}
	must.Do(t, errors.Join(err, store.Close()))
	return document
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func insertDocument(tx storage.Tx, document string) error {
	return tx.Insert(crateRecords.Kind(), storage.Record{Scope: shop, ID: "p", Data: []byte(document)})
}

// Shown finds in a document exactly the JSON that decoding and encoding make of it, after an
// insert and after a replace.
func TestShownEqualsEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := writeCrate(t, crateRecords.Kind(), func(tx storage.Tx) error {
			next := crateValues.Draw(t, "next")
			o, err := crateRecords.Insert(tx, shop, "p", crateRecord{crate: crateValues.Draw(t, "first"), Route: texts.Draw(t, "route"), Next: &next})
			if err != nil || !rapid.Bool().Draw(t, "replaced") {
				return err
			}
			o.Value.crate = crateValues.Draw(t, "second")
			return crateRecords.Replace(tx, o)
		})
		var r crateRecord
		if err := json.Unmarshal(document, &r); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		want, err := plainjson.Marshal(r.crate)
		must.Do(t, err)
		got := storage.Shown[crate](crateRecords, document)
		must.True(t, "{"+string(got)+"}" == string(want), "document %s\ngot  {%s}\nwant %s", document, got, want)
	})
}

// A document without this encoding's stamp is decoded. Replacing it gives it a stamp,
// unless it has members that this program does not know.
func TestOtherDocumentsAreDecodedUntilReplaced(t *testing.T) {
	plain, err := plainjson.Marshal(crateRecord{crate: crate{ID: "p"}, Route: "r"})
	must.Do(t, err)
	stamped := string(writeCrate(t, crateRecords.Kind(), func(tx storage.Tx) error {
		_, err := crateRecords.Insert(tx, shop, "p", crateRecord{crate: crate{ID: "p"}, Route: "r"})
		return err
	}))
	body := string(plain[1:])
	for name, test := range map[string]struct {
		document string
		stays    bool // without a stamp when it is replaced
	}{
		"without a stamp":               {document: string(plain)},
		"another encoding's":            {document: `{"_":"AAAAAAAA.1.2",` + body},
		"behind another member":         {document: `{"id":"p",` + strings.Replace(stamped[1:], `"id":"p",`, "", 1)},
		"edited, and longer":            {document: strings.Replace(stamped, `"route":"r"`, `"route":"rr"`, 1)},
		"with a broken length":          {document: strings.Replace(stamped, ".", ".x", 1)},
		"of a newer release":            {document: `{"_":"AAAAAAAA.1.2","insured":true,` + body, stays: true},
		"with an unknown nested member": {document: strings.Replace(string(plain), `"street"`, `"city":"Accra","street"`, 1), stays: true},
	} {
		if got := storage.Shown[crate](crateRecords, []byte(test.document)); got != nil {
			t.Errorf("%s: Shown takes %s", name, got)
		}
		replaced := writeCrate(t, crateRecords.Kind(), func(tx storage.Tx) error {
			if err := insertDocument(tx, test.document); err != nil {
				return err
			}
			o, err := crateRecords.Get(tx, shop, "p")
			if err != nil {
				return err
			}
			o.Value.Gift = true
			return crateRecords.Replace(tx, o)
		})
		got := storage.Shown[crate](crateRecords, replaced)
		if test.stays != (got == nil) || !test.stays && !strings.HasSuffix(string(got), `"gift":true`) {
			t.Errorf("%s: replaced by %s, Shown takes %s", name, replaced, got)
		}
		expect.True(t, json.Valid(replaced), "%s: replaced by %s", name, replaced)
		expect.True(t, strings.Count(string(replaced), `"_"`) <= 1, "%s: replaced by %s", name, replaced)
	}
}

type (
	upper   string
	shouted string
)

func (upper) MarshalText() ([]byte, error)   { return []byte("UP"), nil }
func (shouted) MarshalText() ([]byte, error) { return []byte("UP!"), nil }

// The stamp changes with the names, order, options and types of fields, and with the output of
// their own encoders.
func TestStampChangesWithTheEncoding(t *testing.T) {
	seen := map[string]string{}
	for name, insert := range map[string]func(tx storage.Tx) error{
		"the type":      stampOf[struct{ A, B string }],
		"another name":  stampOf[struct{ A, C string }],
		"another order": stampOf[struct{ B, A string }],
		"one more":      stampOf[struct{ A, B, C string }],
		"left out when empty": stampOf[struct {
			A string
			B string `json:",omitempty"`
		}],
		"a pointer": stampOf[struct {
			A string
			B *string
		}],
		"a number": stampOf[struct {
			A string
			B int
		}],
		"an encoder of its own": stampOf[struct {
			A string
			B upper
		}],
		"which has changed": stampOf[struct {
			A string
			B shouted
		}],
	} {
		document := writeCrate(t, &storage.Kind{Name: "stamped"}, insert)
		stamp, _, ok := strings.Cut(string(document), ".")
		if other, taken := seen[stamp]; !ok || taken {
			t.Errorf("%s: %s has the stamp of %q", name, document, other)
		}
		seen[stamp] = name
	}
}

func stampOf[T any](tx storage.Tx) error {
	var v T
	c := storage.NewCollection[T]("stamped", nil).Passthrough(func(v *T) any { return v })
	_, err := c.Insert(tx, shop, "p", v)
	return err
}

// The length cannot locate a part that does not come first.
func TestPassthroughPanicsUnlessThePartComesFirst(t *testing.T) {
	type later struct {
		Route string `json:"route"`
		crate
	}
	type hiding struct {
		crate
		Pieces string `json:"pieces"`
	}
	refuses := func(declare func()) {
		t.Helper()
		defer func() {
			if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "do not come first") {
				t.Errorf("the declaration panics with %v", err)
			}
		}()
		declare()
		t.Error(errors.New("the declaration is taken"))
	}
	refuses(func() {
		storage.NewCollection[later]("later", nil).Passthrough(func(l *later) any { return &l.crate })
	})
	refuses(func() {
		storage.NewCollection[hiding]("hiding", nil).Passthrough(func(h *hiding) any { return &h.crate })
	})
}
