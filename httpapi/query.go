package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/api"
)

// query reads the query parameters by their types. An absent one gives the zero value, and an empty one
// is absent. err returns the first error. It ignores unknown parameters, and refuses one that is given twice.
type query struct {
	values   url.Values // without the empty ones
	firstErr error
}

func newQuery(rawQuery string) *query {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return &query{firstErr: api.Invalid("", "The query string is not well formed. Write what is special in it as %%XX, and join parameters with &.")}
	}
	for name, given := range values {
		given = slices.DeleteFunc(given, func(value string) bool { return value == "" })
		if values[name] = given; len(given) == 0 {
			delete(values, name)
		}
	}
	return &query{values: values}
}

func (q *query) err() error { return q.firstErr }

// page reads limit, starting_after and ending_before.
func (q *query) page() api.Page {
	var p api.Page
	if limit := q.integer("limit", 1, api.MaxLimit); limit != nil {
		p.Limit = *limit
	}
	p.StartingAfter = q.cursor("starting_after")
	p.EndingBefore = q.cursor("ending_before")
	if err := p.Check(); err != nil {
		q.fail(err)
	}
	return p
}

// cursor reads an id of the list. What can be no id is no object's.
func (q *query) cursor(name string) string {
	id := q.text(name)
	if id != "" && !isName(id) {
		q.fail(api.NoSuchCursor(name, "object"))
		return ""
	}
	return id
}

// text reads a parameter as it is.
func (q *query) text(name string) string {
	switch values := q.values[name]; len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	q.fail(api.Invalid(name, "%s is given more than once.", name))
	return ""
}

// id reads the id of an object to filter by.
func (q *query) id(name string) string {
	id := q.text(name)
	if id != "" && !isName(id) {
		q.fail(api.Invalid(name, "%s must be the id of an object.", name))
		return ""
	}
	return id
}

// boolean reads true or false, in any case; nil when absent.
func (q *query) boolean(name string) *bool {
	switch strings.ToLower(q.text(name)) {
	case "true":
		return new(true)
	case "false":
		return new(false)
	case "":
		return nil
	}
	q.fail(api.Invalid(name, "%s must be true or false.", name))
	return nil
}

// integer reads a whole number from lowest to highest; nil when absent.
func (q *query) integer(name string, lowest, highest int) *int {
	text := q.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < lowest || n > highest {
		q.fail(api.Invalid(name, "%s must be an integer from %d to %d.", name, lowest, highest))
		return nil
	}
	return &n
}

// oneOf reads a parameter that has one of the listed values; "" when absent.
func (q *query) oneOf(name string, allowed []string) string {
	text := q.text(name)
	if text == "" || slices.Contains(allowed, text) {
		return text
	}
	q.fail(api.Invalid(name, "%s must be one of %s.", name, strings.Join(allowed, ", ")))
	return ""
}

func (q *query) fail(err error) {
	if q.firstErr == nil {
		q.firstErr = err
	}
}
