package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestPublishedFilesAreUpToDate(t *testing.T) {
	t.Chdir("../../../httpapi")
	files := must.Get(generate())(t)
	for name, want := range files {
		got := must.Get(os.ReadFile(name))(t)
		expect.True(t, bytes.Equal(got, want), "httpapi/%s differs from what is made of %s: run go generate ./httpapi", name, source)
	}
}

func TestJSON(t *testing.T) {
	const text = `
zebra: 1
apple: [1.50, true, null, ~, 'true', "no", no, 2026-01-31, 2026-01-31T08:15:00Z]
'200': { a: {}, b: [] }
line: |
  one
  two "quoted" <b> ɛ
`
	root := must.Get(parse([]byte(text)))(t)
	const want = `{"zebra":1,"apple":[1.50,true,null,null,"true","no","no","2026-01-31","2026-01-31T08:15:00Z"],` +
		`"200":{"a":{},"b":[]},"line":"one\ntwo \"quoted\" \u003cb\u003e ɛ\n"}`
	got, err := marshalJSON(root)
	must.Do(t, err)
	expect.True(t, string(got) == want, "got  %s, %v\nwant %s", got, err, want)
	n := get(root, "200", "a")
	expect.True(t, n != nil, "get finds what is not there, or not what is")
	expect.True(t, get(root, "200", "c") == nil, "get finds what is not there, or not what is")
	expect.True(t, get(root, "zebra", "x") == nil, "get finds what is not there, or not what is")
}

func TestJSONRefuses(t *testing.T) {
	for text, part := range map[string]string{
		"a: &x 1\nb: *x":    "line 2: an anchor",
		"a: 0x10":           "line 1: \"0x10\" is not spelled",
		"a: .5":             "is not spelled",
		"a: .inf":           "is not spelled",
		"a: !mine 5":        "the tag !mine",
		"a: 1\nb: 2\na: 3":  "line 3: the name a is there already",
		"? [a]\n: b":        "a name must be a text",
		"a: !!binary aGk=":  "the tag !!binary",
		"a: b\nc: [True]\n": "\"True\" is not spelled",
	} {
		root, err := parse([]byte(text))
		if err == nil {
			_, err = marshalJSON(root)
		}
		expect.True(t, strings.Contains(fmt.Sprint(err), part), "%q: got %v, want %q", text, err, part)
	}
	for _, text := range []string{"", "a: [", "a: 1\na: : 2"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
