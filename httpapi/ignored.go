package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
)

// The bounds of the header Ignored-Parameters: how many names it has, and how many bytes of one.
const (
	maxIgnored     = 20
	maxIgnoredName = 64
)

// takes notes which of the request's parameters its route does not know, for the header
// Ignored-Parameters. Each handler under /v1 calls it before anything else, with the params that it decodes.
// With Config.RefuseUnknown it refuses the first of them.
func (r *request) takes(body, query []param) error {
	names := unknownMembers(nil, r.members, body, nil)
	if names = unknownQuery(names, r.URL.RawQuery, query); len(names) == 0 {
		return nil
	}
	if r.refuseUnknown {
		name := shortName(names[0])
		return api.Invalid(name, "%s is no parameter of this request. Check how it is written, or leave it out.", name)
	}
	for i, name := range names {
		names[i] = printable(shortName(name))
	}
	r.ignored = strings.Join(names, ", ")
	return nil
}

// unknownMembers adds the paths of an object's members that are among no params, in the order of their
// appearance. It does not look into metadata, which has names of the caller's own.
func unknownMembers(names []string, members []jsonMember, params []param, at *place) []string {
	for i := range members {
		if len(names) == maxIgnored {
			return names
		}
		m := &members[i]
		known := slices.IndexFunc(params, func(p param) bool { return p.name == m.name && !p.null })
		if known < 0 {
			name := m.name
			if name == "" {
				name = `""`
			}
			names = append(names, at.of(name))
			continue
		}
		p := &params[known]
		if p.fields == nil || p.kind != m.value.kind {
			continue
		}
		names = unknownMembers(names, m.value.members, p.fields, &place{at, p.name, -1})
		for j := range m.value.elements {
			names = unknownMembers(names, m.value.elements[j].members, p.fields, &place{at, p.name, j})
		}
	}
	return names
}

// unknownQuery adds the names of the query's parameters that are among no params, each once. An empty
// parameter is absent.
func unknownQuery(names []string, rawQuery string, params []param) []string {
	inBody := len(names)
	for rawQuery != "" && len(names) < maxIgnored {
		var part string
		part, rawQuery, _ = strings.Cut(rawQuery, "&")
		rawName, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		if value == "" || err != nil {
			continue
		}
		known := slices.ContainsFunc(params, func(p param) bool { return p.takesQuery(name) })
		if !known && !slices.Contains(names[inBody:], name) {
			names = append(names, name)
		}
	}
	return names
}

// takesQuery reports whether the field is filled from a parameter of that name.
func (p *param) takesQuery(name string) bool {
	switch {
	case p.page:
		return name == "limit" || name == "starting_after" || name == "ending_before"
	case p.times && strings.HasPrefix(name, p.name+"["):
		return true // an operator that there is not is refused
	}
	return name == p.name
}

// shortName cuts a long name.
func shortName(name string) string {
	if len(name) <= maxIgnoredName {
		return name
	}
	end := maxIgnoredName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "..."
}

// printable returns a name with %XX for each byte that is not printable ASCII.
func printable(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; ' ' <= c && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
