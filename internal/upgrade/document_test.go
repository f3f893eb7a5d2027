package upgrade

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// TestChanges gives the passes documents of the earlier form.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ kind, before, after string }{
		{"charge_orders", `{"noun":"invoice","merchant":"mer_1","of":"inv_1"}`, `{"object":"invoice","merchant":"mer_1","record":"inv_1"}`},
		{"payouts", `{"id":"po_1","asked":2}`, `{"id":"po_1","attempts":2}`},
		{"payouts", `{"id":"po_1"}`, `{"id":"po_1"}`},
		{"disbursement_batch_rows", `{"made":"dis_1","tries":2}`, `{"disbursement_id":"dis_1","attempts":2}`},
		{"erasures", `{"recipients":["a@example.com"],"due":"t"}`, `{"due":"t"}`},
		{"test_clocks", `{"ahead_ms":1}`, `{"ahead_ms":1,"due":"1970-01-01T00:00:00.000Z"}`},
		{"test_clocks", `{"ahead_ms":1,"resting":true}`, `{"ahead_ms":1,"resting":true}`},
		{"products", `{"taxable":null,"tax_percent":15}`, `{"taxable":false,"tax_percent":15}`},
		{"products", `{"taxable":null,"tax_percent":null}`, `{"taxable":null,"tax_percent":null}`},
		{"payments", `{"status":"completed","amount":5,"created_at":"t","phone":null}`, `{"status":"completed","amount":5,"created_at":"t","phone":null,"net":5,"completed_at":"t","fee":0}`},
		{"payments", `{"status":"failed","failure_code":null}`, `{"status":"failed","failure_code":"other"}`},
		{"refunds", `{"status":"failed","failure_code":"limit","asked":1}`, `{"status":"failed","failure_code":"limit","attempts":1}`},
		{
			"invoices", `{"off":5,"origin":{"key":"k"},"attempt":{"id":"att_1","asked":1,"submitted_at":"t","origin":{"key":"k"}},"outside":"cash","from":"cus_1","due":"t"}`,
			`{"invoice_discount":5,"finalized_by":{"key":"k"},"open_charge":{"id":"att_1","attempts":1,"submitted_at":"t","finalized_by":{"key":"k"}},"out_of_band_method":"cash","unlinked_customer":"cus_1","next_work_at":"t"}`,
		},
		{"invoice_reminders", `{"due_date":"t","due":"u"}`, `{"due_date":"t","send_at":"u"}`},
	} {
		got, err := changed(c.kind, c.before)
		must.Do(t, err)
		expect.Equal(t, got, c.after, "%s %s", c.kind, c.before)
		again, err := changed(c.kind, c.after)
		must.Do(t, err)
		expect.Equal(t, again, c.after, "%s twice", c.kind)
	}
	_, err := changed("invoices", `{"attempt":{"id":"att_1","asked":1}}`)
	expect.ErrorIs(t, err, errOlder, "a charge that is in no index")
}

// changed applies the changes of a kind that need no other record.
func changed(kind, text string) (string, error) {
	d, err := parse([]byte(text))
	for _, p := range passes {
		for _, change := range p.changes {
			if p.kind == kind && err == nil {
				err = change(&record{}, d)
			}
		}
	}
	if err != nil {
		return "", err
	}
	data, err := d.encode()
	return string(data), err
}

func TestDocument(t *testing.T) {
	d := must.Get(parse([]byte(`{"b":[{"x":1},{"y":2}],"a":"<é>","n":null,"o":{"x":1.50}}`)))(t)
	must.Do(t, d.in("b", func(d *document) error { return d.rename("x", "z") }))
	must.Do(t, d.in("n.deeper", func(*document) error { panic("there is none") }))
	must.Do(t, d.in("o", func(d *document) error { return d.rename("gone", "z") }))
	expect.Equal(t, string(must.Get(d.encode())(t)), `{"b":[{"z":1},{"y":2}],"a":"<é>","n":null,"o":{"x":1.50}}`, "document")
	expect.ErrorIs(t, d.rename("a", "b"), errTwice, "a name that is taken")
}

// Events of earlier programs come under one head, and calls of subscribers move to their kind.
func TestEventsGetOneHead(t *testing.T) {
	store, heads := memory.New(), &storage.Kind{Name: "event_heads", Backfill: noColumns}
	events := &storage.Kind{Name: "events", Backfill: noColumns}
	calls := &storage.Kind{Name: "subscriber_calls", Columns: tellings.Kind().Columns, Due: "due", Backfill: tellings.Kind().Backfill}
	all := append(Kinds(), heads, events, calls)
	for _, name := range []string{"payments", "payouts", "disbursements"} {
		all = append(all, &storage.Kind{Name: name})
	}
	before := passes
	defer func() { passes = before }()
	passes = slices.DeleteFunc(slices.Clone(passes), func(p pass) bool { return p.kind[:5] != "event" })
	merchant := storage.Scope{Merchant: "mer_1"}
	must.Do(t, store.Define(t.Context(), append(all, former...)...))
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return errors.Join(
			tx.Insert(heads, storage.Record{Scope: merchant, ID: "head", Data: []byte(`{"event":"evt_2"}`)}),
			tx.Insert(events, storage.Record{Scope: merchant, ID: "evt_2", Data: []byte(`{"told":true,"due":"t"}`)}),
			tx.Insert(events, storage.Record{Scope: storage.Scope{Merchant: "mer_2"}, ID: "evt_1", Data: []byte(`{"held":true,"due":"t"}`)}),
			tx.Insert(former[1], storage.Record{Scope: merchant, ID: "tell_1", Columns: []any{nil}, Data: []byte(`{"event":"evt_2","due":"2026-03-06T10:03:22.000Z"}`)}),
		)
	}))
	must.Do(t, Run(t.Context(), store, all))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, want := range []struct {
			kind *storage.Kind
			text string
		}{
			{heads, `[{ false} head {"event":"evt_2"}]`},
			{events, `[{mer_1 false} evt_2 {"fanned_out":true}][{mer_2 false} evt_1 {"partly_stored":true,"due":"t"}]`},
			{former[1], ""},
			{calls, `[{mer_1 false} tell_1 {"event":"evt_2","due":"2026-03-06T10:03:22.000Z"}]`},
		} {
			found, err := tx.Scan(want.kind, storage.Scope{}, "", 9)
			must.Do(t, err)
			text := ""
			for _, r := range found {
				text += fmt.Sprintf("[%v %s %s]", r.Scope, r.ID, r.Data)
			}
			expect.Equal(t, text, want.text, "%s", want.kind.Name)
		}
		backlog, err := tx.Backlog(calls, time.Now().AddDate(9, 0, 0), 9)
		expect.Equal(t, backlog.Count, 1, "due calls")
		return err
	}))
}

func noColumns([]byte) ([]any, error) { return nil, nil }
