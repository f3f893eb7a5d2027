package inspector

import (
	"bytes"
	"maps"
	"regexp"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
)

// maxExported bounds the rows of an export, which is made in memory. It is a variable for the tests.
var maxExported = 5_000

// export is the list as its query selects it, all of its pages, as a file for a spreadsheet. Amounts are
// numbers of the currency that has a column of its own.
func (n *noun[T]) export(v *visit) (*file, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	w, written := *v, 0
	w.query, w.limit = maps.Clone(v.query), api.MaxLimit
	w.query.Del("before")
	list := func(after string) (*api.List[T], error) {
		if written >= maxExported {
			return nil, api.Invalid("period", "An export has at most %d rows. Choose a shorter period.", maxExported)
		}
		w.query.Set("after", after)
		return n.reads(&w).list(&w)
	}
	cells := func(o *T) []string {
		r := n.show(v, o)
		is, _ := r.Badge.(badge)
		return []string{
			textField(o, "ID"), exportedText(r.Title), exportedText(r.Below), exportedAmount(r.Amount), is.Word,
			exportedText(r.For), exportedText(r.ForBelow), spreadsheet.Time(&r.At), exportedCurrency(r.Amount), exportedAmount(r.Fee), exportedAmount(r.Net),
		}
	}
	var b bytes.Buffer
	write := func() error {
		b.Reset()
		written = 0
		return spreadsheet.Write(&b, []string{spreadsheet.Mark + "ID", n.heads[0], "Details", "Amount", "Status", n.heads[3], "Note", "Time", "Currency", "Fee", "Net"}, list,
			func(o *T) string { return textField(o, "ID") }, cells, func(rows int) { written = rows })
	}
	err := write()
	if api.CodeOf(err) == api.ResourceMissing { // the last object of a page was deleted meanwhile
		err = write()
	}
	if err == nil {
		err = v.err
	}
	return &file{contentType: "text/csv; charset=utf-8", data: b.Bytes(), name: n.path + ".csv", saved: true}, err
}

var (
	pagePhone = regexp.MustCompile(`(?:([0-9]{3})\x{a0})?•••\x{a0}([0-9]+)`)
	pageMoney = strings.NewReplacer("GH₵"+look.NoBreak, "GHS ")
)

// exportedText is a text of a row with numbers and amounts as the API writes them.
func exportedText(s string) string {
	s = pagePhone.ReplaceAllStringFunc(s, func(number string) string {
		part := pagePhone.FindStringSubmatch(number)
		if part[1] != "" { // the API shows three digits of a phone's end
			part[2] = part[2][max(0, len(part[2])-3):]
		}
		return part[1] + "****" + part[2]
	})
	s = pageMoney.Replace(s)
	return spreadsheet.Text(&s)
}

// exportedCurrency is the currency of an amount; "" without one.
func exportedCurrency(amount any) string {
	if exportedAmount(amount) == "" {
		return ""
	}
	return api.Currency
}

// exportedAmount is the amount of a row as a number.
func exportedAmount(amount any) string {
	switch a := amount.(type) {
	case cedis:
		return spreadsheet.GHS(int64(a))
	case api.GHS:
		return spreadsheet.GHS(pesewas(a))
	}
	return ""
}
