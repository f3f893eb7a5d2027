package upgrade

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// TestChanges gives the passes to Version 1 documents of the earlier form.
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
		got, err := changed(0, c.kind, c.before)
		must.Do(t, err)
		expect.Equal(t, got, c.after, "%s %s", c.kind, c.before)
		again, err := changed(0, c.kind, c.after)
		must.Do(t, err)
		expect.Equal(t, again, c.after, "%s twice", c.kind)
	}
	_, err := changed(0, "invoices", `{"attempt":{"id":"att_1","asked":1}}`)
	expect.ErrorIs(t, err, errOlder, "a charge that is in no index")
}

// TestStatedFigures gives the pass to Version 2 invoices of all former rules.
func TestStatedFigures(t *testing.T) {
	const (
		taxed   = `{"id":"%s","amount":%d,"taxable":true,"tax_percent":20,"discount_amount":%d}`
		untaxed = `{"id":"a","amount":500,"taxable":false,"tax_percent":20,"discount_amount":0}`
		parts   = `"taxes":{"a":[{"Name":"VAT","Percent":"15"},{"Name":"NHIL","Percent":"2.5"},{"Name":"GETFund","Percent":"2.5"}]}`
	)
	for name, c := range map[string]struct{ lines, more, stated string }{
		"rounded per rate":     {fmt.Sprintf(taxed, "a", 333, 0), `,"tax_per_rate":true`, ""},
		"no tax":               {untaxed, "", ""},
		"no lines":             {"", "", ""},
		"a rate":               {fmt.Sprintf(taxed, "a", 333, 0) + "," + fmt.Sprintf(taxed, "b", 333, 0), "", `{"taxes":[{"name":"Tax","percent":"20","base":666,"amount":134}]}`},
		"a rate of 0":          {`{"id":"a","amount":500,"taxable":true,"tax_percent":0,"discount_amount":0}`, "", `{}`},
		"too little to tax":    {fmt.Sprintf(taxed, "a", 2, 0), "", `{}`},
		"below zero":           {fmt.Sprintf(taxed, "a", -333, 0), "", `{"taxes":[{"name":"Tax","percent":"20","base":-333,"amount":-67}]}`},
		"parts":                {fmt.Sprintf(taxed, "a", 450, 0), "," + parts, `{"taxes":[{"name":"VAT","percent":"15","base":450,"amount":68},{"name":"NHIL","percent":"2.5","base":450,"amount":11},{"name":"GETFund","percent":"2.5","base":450,"amount":11}]}`},
		"parts beside a rate":  {fmt.Sprintf(taxed, "a", 20, 0) + "," + fmt.Sprintf(taxed, "b", 20, 0), "," + parts, `{"taxes":[{"name":"VAT","percent":"15","base":20,"amount":2},{"name":"NHIL","percent":"2.5","base":20,"amount":1},{"name":"GETFund","percent":"2.5","base":20,"amount":1},{"name":"Tax","percent":"20","base":20,"amount":4}]}`},
		"a shared discount":    {fmt.Sprintf(taxed, "a", 1000, 50), `,"discount":150,"shares":{"a":100}`, `{"taxes":[{"name":"Tax","percent":"20","base":850,"amount":170}]}`},
		"a discount after tax": {fmt.Sprintf(taxed, "a", 1000, 50), `,"discount":150`, `{"taxes":[{"name":"Tax","percent":"20","base":950,"amount":190}],"discount_after_tax":100}`},
		"a discount, no tax":   {untaxed, `,"discount":100`, `{"discount_after_tax":100}`},
	} {
		before := `{"lines":{"data":[` + c.lines + `]}` + c.more
		want := strings.Replace(before, `,"tax_per_rate":true`, "", 1)
		if c.stated != "" {
			want += `,"stated_figures":` + c.stated
		}
		got, err := changed(1, "invoices", before+"}")
		must.Do(t, err)
		expect.Equal(t, got, want+"}", "%s", name)
	}
}

// An invoice says which part of a coupon's amount reduced its period. A copy of the invoice takes the same off.
func TestPeriodCoupon(t *testing.T) {
	const (
		period = `{"id":"a","amount":100,"period":{"start":1,"end":2}}`
		lines  = `"lines":{"data":[` + period + `,{"id":"b","amount":50},{"id":"c","amount":-20}]}`
		coupon = `"redemption":{"percent_off":null,"amount_off":%d,"counted":true}`
	)
	for name, c := range map[string]struct {
		before, after   string
		amount, becomes int64
	}{
		"the period alone":      {lines + `,"shares":{"a":30}`, "", 30, 30},
		"all of the period":     {lines + `,"shares":{"a":100}`, "", 120, 120},
		"shared with a charge":  {lines + `,"shares":{"a":20,"b":10}`, `,"invoice_discount":10`, 30, 20},
		"shared with a credit":  {lines + `,"shares":{"a":38,"c":-8}`, "", 30, 38},
		"less than nothing":     {`"lines":{"data":[` + period + `,{"id":"b","amount":-200}]}`, `,"invoice_discount":100`, 1000, 0},
		"credit that is kept":   {`"credit_line":"b","lines":{"data":[` + period + `,{"id":"b","amount":200}]}`, `,"invoice_discount":100`, 1000, 0},
		"no period":             {`"lines":{"data":[{"id":"a","amount":100},{"id":"b","amount":50}]},"shares":{"a":20,"b":10}`, "", 30, 30},
		"a period without cost": {`"lines":{"data":[{"id":"a","amount":0,"period":{}}]}`, "", 30, 30},
	} {
		got, err := changed(1, "invoices", fmt.Sprintf(`{"tax_per_rate":true,`+coupon+`,%s}`, c.amount, c.before))
		must.Do(t, err)
		want := fmt.Sprintf(`{`+coupon+`,%s%s}`, c.becomes, c.before, c.after)
		expect.Equal(t, got, want, "%s", name)
		got, err = changed(1, "invoices", want)
		must.Do(t, err)
		expect.True(t, strings.HasPrefix(got, want[:len(want)-1]), "%s twice is %s", name, got)
	}
	percent := `{"redemption":{"percent_off":10,"amount_off":null},"shares":{"a":10,"b":5},` + lines + `}`
	got, err := changed(1, "invoices", percent)
	must.Do(t, err)
	expect.Equal(t, got, percent, "a percentage")
}

// Lines that wait for a subscription's next invoice carry the percentage that its coupon takes off.
func TestWaitingLinesAreNet(t *testing.T) {
	const (
		waiting = `"waiting":[{"amount":-50},{"amount":55},{"amount":40,"net":true}]`
		netted  = `"waiting":[{"amount":-50},{"amount":49},{"amount":40}]`
		plain   = `"waiting":[{"amount":-50},{"amount":55},{"amount":40}]`
		percent = `"coupon_terms":{"percent_off":10,"amount_off":null}`
		amount  = `"coupon_terms":{"percent_off":null,"amount_off":10}`
	)
	for before, after := range map[string]string{
		waiting:                 plain,
		waiting + `,` + percent: netted + `,` + percent,
		waiting + `,` + amount:  plain + `,` + amount,
		`"current_period_end":9,"discount":{"end":9},` + percent + `,` + waiting:     `"current_period_end":9,"discount":{"end":9},` + percent + `,` + plain,
		`"current_period_end":9,"discount":{"end":10},` + percent + `,` + waiting:    `"current_period_end":9,"discount":{"end":10},` + percent + `,` + netted,
		`"unpaid":[{"used":{` + waiting + `}},{}],` + percent:                        `"unpaid":[{"used":{` + netted + `}},{}],` + percent,
		`"unpaid":[{"used":{` + waiting + `,` + percent + `}}]`:                      `"unpaid":[{"used":{` + netted + `,` + percent + `}}]`,
		percent + `,"unpaid":[{"used":{` + waiting + `,` + amount + `}}],` + waiting: percent + `,"unpaid":[{"used":{` + plain + `,` + amount + `}}],` + netted,
	} {
		got, err := changed(1, "subscriptions", `{`+before+`}`)
		must.Do(t, err)
		expect.Equal(t, got, `{`+after+`}`, "%s", before)
	}
}

// An order that is contradicted gets the cause by which a repetition is known.
func TestCauses(t *testing.T) {
	for text, want := range map[string]string{
		"failed, and now paid":                                                  `{"recorded":"failed","reported":"paid"}`,
		"in_progress, and now reversed":                                         `{"recorded":"in_progress","reported":"reversed"}`,
		"completed, and now reversed: 30 pesewas of 50":                         `{"recorded":"completed","reported":"reversed","amount":30}`,
		"completed, and now 30 pesewas of 50":                                   `{"recorded":"completed","reported":"paid","amount":30}`,
		"the provider reports 30 pesewas, and not 50":                           `{"amount":30,"problem":"other_amount"}`,
		"the provider reports 30 pesewas reversed, and not 50":                  `{"amount":30,"problem":"other_amount"}`,
		"the provider reports another amount or currency than 50 pesewas":       `{"problem":"other_amount"}`,
		"reversed, and GHS 1,234.50 refunded before":                            `{"amount":123450,"problem":"reversed_after_refund"}`,
		"paid, the wallet could not take it, and the provider gives no refunds": `{"problem":"not_refundable"}`,
		"completed, the invoice was void, and its refund failed":                `{"problem":"refund_failed"}`,
	} {
		for kind, before := range map[string]string{
			"rail_orders":   fmt.Sprintf(`{"contradiction":%q}`, text),
			"charge_orders": fmt.Sprintf(`{"contradiction":%q,"resolved":%q}`, text, text),
		} {
			after := before[:len(before)-1] + `,"cause":` + want
			if strings.Contains(before, "resolved\"") {
				after += `,"resolved_cause":` + want
			}
			for _, given := range []string{before, after + "}"} {
				got, err := changed(1, kind, given)
				must.Do(t, err)
				expect.Equal(t, got, after+"}", "%s", given)
			}
		}
	}
	for _, same := range []string{`{}`, `{"object":"refund","contradiction":""}`, `{"contradiction":"another text"}`} {
		got, err := changed(1, "refund_orders", same)
		must.Do(t, err)
		expect.Equal(t, got, same, "no cause")
	}
}

// changed applies the changes of a kind that need no other record, of the pass from a version to the next one.
func changed(version int, kind, text string) (string, error) {
	d, err := parse([]byte(text))
	for _, p := range passes[version] {
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

// Calls of subscribers move to their kind. An event that is not fanned out goes to the endpoints that were active
// when it was recorded, and to no other.
func TestEventsKeepTheirEndpoints(t *testing.T) {
	store := memory.New()
	events, active := &storage.Kind{Name: "events", Backfill: noColumns}, &storage.Kind{Name: "webhook_subscriptions", Backfill: noColumns}
	calls := &storage.Kind{Name: "subscriber_calls", Columns: tellings.Kind().Columns, Due: "due", Backfill: tellings.Kind().Backfill}
	all := append(Kinds(), events, active, calls)
	for _, name := range []string{"rail_orders", "refund_orders", "charge_orders", "payments", "payouts", "disbursements", "invoices", "subscriptions", "webhook_endpoints"} {
		all = append(all, &storage.Kind{Name: name})
	}
	before := passes
	defer func() { passes = before }()
	passes[0] = slices.DeleteFunc(slices.Clone(passes[0]), func(p pass) bool { return p.kind[:5] != "event" })
	merchant := storage.Scope{Merchant: "mer_1"}
	must.Do(t, store.Define(t.Context(), append(all, Former()...)...))
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return errors.Join(
			tx.Insert(heads.Kind(), storage.Record{Scope: merchant, ID: "head", Data: []byte(`{"event":"evt_2"}`)}),
			tx.Insert(active, storage.Record{Scope: merchant, ID: "active", Data: []byte(
				`{"list":[{"endpoint":"we_c","after":"evt_5"},{"endpoint":"we_a"},{"endpoint":"we_d","after":"evt_5"},{"endpoint":"we_b","after":"evt_3"}]}`)}),
			tx.Insert(events, storage.Record{Scope: merchant, ID: "evt_3", Data: []byte(`{"due":"t"}`)}),
			tx.Insert(events, storage.Record{Scope: merchant, ID: "evt_4", Data: []byte(`{"due":"t"}`)}),
			tx.Insert(events, storage.Record{Scope: merchant, ID: "evt_6", Data: []byte(`{"due":"t"}`)}),
			tx.Insert(events, storage.Record{Scope: merchant, ID: "evt_2", Data: []byte(`{"told":true,"due":"t"}`)}),
			tx.Insert(events, storage.Record{Scope: storage.Scope{Merchant: "mer_2"}, ID: "evt_1", Data: []byte(`{"held":true,"due":"t"}`)}),
			tx.Insert(tellings.Kind(), storage.Record{Scope: merchant, ID: "tell_1", Columns: []any{nil}, Data: []byte(`{"event":"evt_2","due":"2026-03-06T10:03:22.000Z"}`)}),
		)
	}))
	must.Do(t, Run(t.Context(), store, all))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, want := range []struct {
			kind *storage.Kind
			text string
		}{
			{heads.Kind(), ""},
			{events, `[{mer_1 false} evt_2 {"fanned_out":true}][{mer_1 false} evt_3 {"due":"t","activations":1}]` +
				`[{mer_1 false} evt_4 {"due":"t","activations":2}][{mer_1 false} evt_6 {"due":"t","activations":4}]` +
				`[{mer_2 false} evt_1 {"partly_stored":true,"due":"t"}]`},
			{active, `[{mer_1 false} active {"list":[{"endpoint":"we_c","activation":3},{"endpoint":"we_a","activation":1},` +
				`{"endpoint":"we_d","activation":4},{"endpoint":"we_b","activation":2}],"activations":4}]`},
			{tellings.Kind(), ""},
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
