package engine

import (
	"fmt"
	"strconv"

	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/shown"
	"github.com/seed-7082ffec/payments/storage"
)

// show adds the JSON of a record's object to the page, as the encoder would have made
// it of what Show returns.
func (l Listing[T, O]) show(e *Engine, page *shown.Page, r *storage.Record) error {
	if l.AsStored {
		if json := shown.AsStored[T, O](r.Data); json != nil {
			page.Write(json)
			return page.WriteByte('}')
		}
	}
	kind := l.Collection.Kind()
	json := e.Shown.Find(kind, r)
	if json == nil {
		o, err := l.Collection.Decode(*r)
		if err != nil {
			return err
		}
		if json, err = plainjson.Marshal(l.Show(&o.Value)); err != nil {
			return fmt.Errorf("show %s: %w", l.Noun, err)
		}
		e.Shown.Keep(kind, r, json)
	}
	page.Write(json)
	return nil
}

// showAll makes the page the JSON of an api.List.
func (l Listing[T, O]) showAll(e *Engine, page *shown.Page, records []storage.Record, more bool) error {
	page.Reset()
	page.WriteString(`{"object":"list","data":[`)
	for i := range records {
		if i > 0 {
			page.WriteByte(',')
		}
		if err := l.show(e, page, &records[i]); err != nil {
			return err
		}
	}
	url, err := plainjson.Marshal(l.URL)
	if err != nil {
		return fmt.Errorf("show %s: %w", l.Noun, err)
	}
	page.WriteString(`],"has_more":`)
	page.WriteString(strconv.FormatBool(more))
	page.WriteString(`,"url":`)
	page.Write(url)
	page.WriteString("}\n")
	return nil
}
