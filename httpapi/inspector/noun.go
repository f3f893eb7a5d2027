package inspector

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
)

// noun describes the objects of one kind: how a list shows them, what the page of one holds, and
// what can be done. The same code makes the pages of all.
type noun[T any] struct {
	// path is that of the list. one and many name the objects, such as "Payment" and "Payments".
	path, one, many string
	// prefix begins the ids of the objects, and way says whether their money comes from or goes to the
	// person whom a row names.
	prefix, way string
	// heads are those of the columns: leading cell, amount, status, what for, time.
	heads [5]string
	// tab is the parameter that the tabs set, and tabs are its values; "" stands for all.
	tab  string
	tabs []option
	// search says what can be entered into the search; empty for no search.
	search string
	// filters are further fields, and dated adds the period and the day.
	filters []field
	dated   bool
	// empty says what would stand in an empty list.
	empty string
	// loud says that the amount heads the page of an object, and that the list can be exported.
	loud bool
	// ordered says that they have orders at providers, which may need a person.
	ordered bool
	forms   func(v *visit) []*form

	// folds is how many of one object may follow each other. The few newest are of different objects then.
	folds int

	// reads are the service's methods that list the objects and get one.
	reads func(v *visit) reader[T]
	row   func(v *visit, o *T) row
	// page fills the page of one object, which has the title, the amount and the badge of its row.
	page func(v *visit, o *T, p *page)
	// also adds to the page of the list.
	also func(v *visit, p *page)
}

// reader lists the objects that the request's query selects, and gets one.
type reader[T any] struct {
	list func(v *visit) (*api.List[T], error)
	get  func(v *visit, id string) (*T, error)
}

// reading is a reader by two methods of a service.
func reading[P, T any](list func(context.Context, api.Caller, P) (*api.List[T], error), get func(context.Context, api.Caller, string) (*T, error)) reader[T] {
	return reader[T]{func(v *visit) (*api.List[T], error) { return choose(v, list) }, func(v *visit, id string) (*T, error) { return get(v.Context(), v.caller, id) }}
}

const perPage = 25

// listPage is a list with its tabs, its filter and what can be made.
func (n *noun[T]) listPage(v *visit) (*page, error) {
	p := &page{Title: n.many, NavPath: n.path, Fixed: true, Tabs: v.tabs(n.tab, n.tabs), Filter: n.filter(v)}
	if n.forms != nil {
		p.Forms = n.forms(v)
	}
	p.Chips, p.Hidden = v.chips(p.Filter, n.tab)
	list, err := n.reads(v).list(v)
	if refusal := asAPIError(err); refusal != nil && v.param("q") != "" && slices.Contains([]string{"email", "phone", "to"}, refusal.Param) {
		p.Problem, list, err = refusal.Message, &api.List[T]{}, nil
	}
	if err != nil {
		return nil, err
	}
	s := v.listed("", n.heads, rowsOf(v, list, n.show), pager(v, list))
	if len(s.Rows) == 0 {
		s.Empty = empty{Title: "No " + lower(n.many) + " yet", Text: n.empty}
		if len(p.Forms) > 0 {
			s.Empty.Action = &link{cmp.Or(p.Forms[0].Label, p.Forms[0].Title), v.here() + "?form=" + p.Forms[0].Name}
		}
		if len(p.Chips) > 0 || n.tab != "" && v.param(n.tab) != "" || v.param("q")+v.param("after")+v.param("before") != "" {
			s.Empty = empty{Title: "Nothing matches", Text: "No " + lower(n.one) + " is as the filter says.", Action: &link{"Show all", v.here()}}
		}
	}
	if n.loud && len(s.Rows) > 0 {
		p.Export = v.here() + ".csv" + strings.TrimPrefix(v.with("done", ""), v.here())
	}
	p.Live = []section{s}
	if n.also != nil {
		n.also(v, p)
	}
	return p, v.err
}

func (n *noun[T]) objectPage(v *visit) (*page, error) {
	o, err := n.reads(v).get(v, v.id)
	if err != nil {
		return nil, err
	}
	r := n.show(v, o)
	v.rows[v.id] = r
	p := &page{Title: r.Title, row: r, Badge: r.Badge, NavPath: n.path, Back: link{n.many, v.url(n.path)}}
	if n.loud {
		p.Title, p.Amount = v.named(n.path, v.id), r.Amount
	}
	n.page(v, o, p)
	if n.ordered {
		v.decide(p)
	}
	last := &p.Side[len(p.Side)-1]
	last.JSON = indentJSON(o)
	for _, s := range p.Live {
		if len(s.Timeline) > 0 && last.Facts != nil {
			last.Facts = append(last.Facts, facts("Request", id(look.Text(s.Timeline[0].Request)))...)
		}
	}
	if more := p.Forms[p.Deciding+len(p.Actions()):]; len(more) > 0 {
		p.Side = append(p.Side, section{Title: "More actions", Forms: more})
	}
	return p, v.err
}

// show returns the row of an object, whose badge tells a contradiction.
func (n *noun[T]) show(v *visit, o *T) row {
	r := n.row(v, o)
	if order := v.contradicted(textField(o, "ID")); n.ordered && order != nil {
		r.Badge, r.ForBelow = badges["contradiction"], contradiction(order)
	}
	return r
}

// listed is a section of rows. If all are of today, the head of their times says so.
func (v *visit) listed(title string, heads [5]string, rows []row, pager []link) section {
	if heads[4] == "Time" && !slices.ContainsFunc(rows, func(r row) bool { return !look.SameDay(r.At.Time, v.now) }) {
		heads[4] = "Today"
	}
	return section{Title: title, Heads: heads, Rows: rows, Pager: pager}
}

// Choices are the forms by which a person decides. They stand beside the problem.
func (p *page) Choices() []*form { return p.Forms[:p.Deciding] }

// Actions are the forms that the head of the page shows. The page of an object has the others at its end.
func (p *page) Actions() []*form {
	return p.Forms[p.Deciding:min(len(p.Forms), 3)]
}

// paged is a section with a page of a list that belongs to an object. none is the text in place of an
// empty one.
func paged[T any](v *visit, title string, heads [5]string, list *api.List[T], err error, show func(*visit, *T) row, none string) section {
	if err != nil {
		v.err = err
		return section{}
	}
	s := v.listed(title, heads, rowsOf(v, list, show), pager(v, list))
	if len(s.Rows) == 0 {
		s.Empty = empty{Title: "No " + lower(title) + " here", Text: none}
	}
	return s
}

// related is a section with the newest of a list, which param chooses as on the list's own page; all
// of it stands there. The objects of one person or subscription go by what they are for.
func (n *noun[T]) related(v *visit, param, value string) section {
	s := v.listed(n.many, n.heads, n.newest(v, param, value, latest*max(1, n.folds)), nil)
	if n.folds > 0 {
		s.Rows = slices.CompactFunc(s.Rows, func(a, b row) bool { return a.Below == b.Below && a.Amount == b.Amount })
		s.Rows = s.Rows[:min(latest, len(s.Rows))]
	}
	for i := range s.Rows {
		if r := &s.Rows[i]; (param == "customer" || param == "subscription") && r.For != "" {
			r.Title, r.For = r.For, ""
		}
	}
	if len(s.Rows) == 0 {
		s.Empty = empty{Title: "No " + lower(n.many) + " yet", Text: n.empty}
		return s
	}
	s.More = &link{"All " + lower(n.many), v.url(n.path)}
	if value != "" {
		s.More.Href += "?" + url.Values{param: {value}}.Encode()
	}
	return s
}

// newest are rows of the newest of a list, which param chooses as on the list's own page.
func (n *noun[T]) newest(v *visit, param, value string, most int) []row {
	w := *v
	w.query, w.limit = url.Values{param: {value}}, most
	list, err := n.reads(v).list(&w)
	if err != nil {
		v.note(err)
		return nil
	}
	return rowsOf(v, list, n.show)
}

// lower is the name of a noun within a sentence; abbreviations stay.
func lower(s string) string {
	if len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// rowOf is an object as its list shows it; empty if there is none. kind is as for [visit.source]. It
// remembers what was found, also that there is nothing.
func (v *visit) rowOf(kind, id string) row {
	find := finders[pathOf(kind, id)]
	r, known := v.rows[id]
	if known || find == nil {
		return r
	}
	r, err := find(v, id)
	v.note(err)
	v.rows[id] = r
	return r
}

// param is what a parameter of the page's query says.
func (v *visit) param(name string) string { return strings.TrimSpace(v.query.Get(name)) }

// with is the page's own query with a parameter set; "" removes it. The page begins anew.
func (v *visit) with(name, to string) string {
	q := v.URL.Query()
	for _, gone := range []string{"done", "form", "after", "before"} {
		q.Del(gone)
	}
	for key, values := range q { // what the filter sent empty
		if len(values) == 0 || values[0] == "" {
			q.Del(key)
		}
	}
	q.Set(name, to)
	if to == "" {
		q.Del(name)
	}
	return v.here() + strings.TrimSuffix("?"+q.Encode(), "?")
}

func (v *visit) tabs(name string, choices []option) []tab {
	if len(choices) == 0 {
		return nil
	}
	_, tabs := v.choice(name, "", append([]option{{Label: "All"}}, choices...))
	return tabs
}

// choice is what the request chose of those offered, or else the usual one, with a tab for each.
func (v *visit) choice(name, usual string, offered []option) (chosen string, tabs []tab) {
	chosen = usual
	for _, o := range offered {
		if v.param(name) == o.Value {
			chosen = o.Value
		}
	}
	for _, o := range offered {
		tabs = append(tabs, tab{link{o.Label, v.with(name, o.Value)}, o.Value == chosen})
	}
	return chosen, tabs
}

// periods are the choices of a period, in days up to today.
var periods = map[string]int{"today": 1, "7days": 7, "30days": 30}

// filter are the fields of a list's filter, with what was chosen.
func (n *noun[T]) filter(v *visit) []field {
	var fields []field
	if n.search != "" {
		fields = append(fields, field{Name: "q", Label: "Search", Kind: "search", Placeholder: n.search})
	}
	fields = append(fields, n.filters...)
	if n.dated {
		fields = append(fields, choice("period", "Period", []option{{Value: "today", Label: "Today"}, {Value: "7days", Label: "7 days"}, {Value: "30days", Label: "30 days"}}))
	}
	for i := range fields {
		fields[i].Value = v.param(fields[i].Name)
	}
	return fields
}

// created is the chosen day or period; an invalid one selects all.
func (v *visit) created() api.Times {
	if day, err := time.Parse(time.DateOnly, v.param("day")); err == nil {
		return api.Times{From: day, Until: day.AddDate(0, 0, 1)}
	}
	back, ok := periods[v.param("period")]
	if !ok {
		return api.Times{}
	}
	return v.lastDays(back)
}

// today is the midnight at which the merchant's day began.
func (v *visit) today() time.Time { return v.now.UTC().Truncate(24 * time.Hour) }

// linking is a parameter that links of other pages set, and the search with an id of that prefix.
type linking struct{ prefix, label string }

// links are the parameters that no field sets: one for each noun, and others. A day comes from a chart.
var links = map[string]linking{"day": {label: "Day"}, "payment_method": {label: "Method"}, "to": {label: "To"}}

// chips are links that take away one condition each. The form keeps, in hidden fields, those that it
// has no field for.
func (v *visit) chips(fields []field, tab string) (chips []link, hidden []option) {
	own := map[string]bool{}
	add := func(name, label, value string) {
		chips = append(chips, link{label + ": " + value, v.with(name, "")})
	}
	for _, f := range fields {
		own[f.Name] = true
		if i := slices.IndexFunc(f.Options, func(o option) bool { return o.Value == f.Value }); i >= 0 && f.Value != "" {
			add(f.Name, f.Label, f.Options[i].Label)
		} else if f.Value != "" {
			add(f.Name, f.Label, f.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		l, value := links[name], v.param(name)
		if value == "" || own[name] {
			continue
		}
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			add(name, l.label, day.Format("2 January")) // a period takes its place
			continue
		}
		hidden = append(hidden, option{Name: name, Value: value})
		if l.prefix == "" {
			value = words(value)
		}
		add(name, l.label, value)
	}
	if tab != "" && v.param(tab) != "" {
		hidden = append(hidden, option{Name: tab, Value: v.param(tab)})
	}
	return chips, hidden
}

// page returns the page of a list that the request asks for.
func (v *visit) page() api.Page {
	return api.Page{Limit: v.limit, StartingAfter: v.param("after"), EndingBefore: v.param("before")}
}

// pager are the links to the pages beside, where there are such.
func pager[T any](v *visit, list *api.List[T]) []link {
	if len(list.Data) == 0 {
		return nil
	}
	var links []link
	beside := func(text, name string, o *T) {
		to, query, _ := strings.Cut(v.with("done", ""), "?")
		q, _ := url.ParseQuery(query)
		q.Set(name, textField(o, "ID"))
		links = append(links, link{text, to + "?" + q.Encode()})
	}
	back := v.param("before") != ""
	if v.param("after") != "" || back && list.HasMore {
		beside("Newer", "before", &list.Data[0])
	}
	if list.HasMore || back {
		beside("Older", "after", &list.Data[len(list.Data)-1])
	}
	return links
}

func rowsOf[T any](v *visit, list *api.List[T], show func(*visit, *T) row) []row {
	rows := make([]row, len(list.Data))
	for i := range list.Data {
		rows[i] = show(v, &list.Data[i])
		rows[i].Time = v.clock(rows[i].At)
	}
	return rows
}
