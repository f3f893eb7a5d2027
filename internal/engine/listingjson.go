package engine

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/jsoncache"
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
	if err := l.writeJSON(e, &r, w); err != nil {
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
		if err := l.writeJSON(e, &records[i], w); err != nil {
			return err
		}
	}
	end := strconv.AppendBool([]byte(`],"has_more":`), more)
	end = append(append(append(end, `,"url":`...), url...), "}\n"...)
	_, err = w.Write(end)
	return err
}

// writeJSON writes the JSON of what Show makes of a record.
func (l Listing[T, O]) writeJSON(e *Engine, r *storage.Record, w io.Writer) error {
	if l.Passthrough {
		if open := jsoncache.Passthrough[T, O](r.Data); open != nil {
			if _, err := w.Write(open); err != nil {
				return err
			}
			_, err := io.WriteString(w, "}")
			return err
		}
	}
	kind := l.Collection.Kind()
	json := e.JSONCache.Get(kind, r)
	if json == nil {
		o, err := l.Collection.Decode(*r)
		if err != nil {
			return err
		}
		if json, err = plainjson.Marshal(l.Show(&o.Value)); err != nil {
			return fmt.Errorf("show %s: %w", l.Noun, err)
		}
		e.JSONCache.Put(kind, r, json)
	}
	_, err := w.Write(json)
	return err
}
