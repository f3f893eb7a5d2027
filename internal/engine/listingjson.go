package engine

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// GetJSON writes to w the JSON of what Get returns, and a newline. When it fails, w may
// hold a part of it.
func (l Listing[T, O]) GetJSON(ctx context.Context, e *Engine, caller api.Caller, id string, w io.Writer) error {
	r, err := storage.GetOne(ctx, e.Store, l.Collection.Kind(), Scope(caller), id)
	if err != nil {
		_, err := OrMissing[T](nil, err, l.Noun)
		return err
	}
	if err := l.writeJSON(&r, w); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// ListJSON writes to w the JSON of what List returns, and a newline. When it fails, w may
// hold a part of it. ListJSON ends its transaction before it writes, so a slow w keeps no
// snapshot of the database open.
func (l Listing[T, O]) ListJSON(ctx context.Context, e *Engine, q storage.Query, p api.Page, w io.Writer) error {
	var records []storage.Record
	var more bool
	err := e.Store.View(ctx, func(tx storage.ReadTx) (err error) {
		records, more, err = l.records(tx, q, p)
		return err
	})
	if err != nil {
		return err
	}
	url, err := plainjson.Marshal(l.URL)
	if err != nil {
		return fmt.Errorf("show %s: %w", l.Noun, err)
	}
	if _, err := io.WriteString(w, `{"object":"list","data":[`); err != nil {
		return err
	}
	for i := range records {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if err := l.writeJSON(&records[i], w); err != nil {
			return err
		}
	}
	end := strconv.AppendBool([]byte(`],"has_more":`), more)
	end = append(append(append(end, `,"url":`...), url...), "}\n"...)
	_, err = w.Write(end)
	return err
}

// writeJSON writes the JSON of a record as Show presents it. It copies the JSON from the document
// if the store holds it in the form that callers see.
func (l Listing[T, O]) writeJSON(r *storage.Record, w io.Writer) error {
	if members := storage.Shown[O](l.Collection, r.Data); members != nil {
		_, err := w.Write([]byte("{"))
		if err == nil {
			_, err = w.Write(members)
		}
		if err == nil {
			_, err = w.Write([]byte("}"))
		}
		return err
	}
	o, err := l.Collection.Decode(*r)
	if err != nil {
		return err
	}
	json, err := plainjson.Marshal(l.Show(&o.Value))
	if err != nil {
		return fmt.Errorf("show %s: %w", l.Noun, err)
	}
	_, err = w.Write(json)
	return err
}
