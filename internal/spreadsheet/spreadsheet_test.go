package spreadsheet

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestCells(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "plain": "plain", "=1+1": "'=1+1", "+233": "'+233", "-5": "'-5", "@x": "'@x", "\tx": "'\tx", "%x": "'%x", "|x": "'|x", "5": "5",
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x", "\rx": "'\rx", "ɛ=1": "ɛ=1",
	} {
		expect.Equal(t, Text(&given), want, "Text(%q) =", given)
	}
	expect.Equal(t, Phone(new("+233241112222")), "+233241112222", "a number")
	expect.Equal(t, Phone(new("+233=1")), "'+233=1", "no number")
	expect.Equal(t, Text(nil), "", "nothing is not empty, or an amount is wrong: text")
	expect.Equal(t, Phone(nil), "", "nothing is not empty, or an amount is wrong: phone")
	expect.Equal(t, Time(nil), "", "nothing is not empty, or an amount is wrong: time")
	expect.Equal(t, GHS(-105), "-1.05", "nothing is not empty, or an amount is wrong: GHS")
	expect.Equal(t, Time(&api.Time{Time: time.Unix(0, 0).In(time.FixedZone("x", 3600))}), "1970-01-01T00:00:00Z", "a time")
}

func TestWrite(t *testing.T) {
	pages := map[string]*api.List[string]{
		"":  api.NewList("", []string{"a", "b"}, true),
		"b": api.NewList("", []string{"c,\"d\""}, false),
	}
	list := func(after string) (*api.List[string], error) { return pages[after], nil }
	id := func(s *string) string { return *s }
	row := func(s *string) []string { return []string{*s, "x"} }
	expect.Equal(t, api.CodeOf(Write(nil, nil, list, id, row, nil)), api.ParameterMissing, "code without a writer")
	var b bytes.Buffer
	told := 0
	if err := Write(&b, []string{"name", "x"}, list, id, row, func(rows int) { told = 10*told + rows }); err != nil || b.String() != "name,x\na,x\nb,x\n\"c,\"\"d\"\"\",x\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
	expect.Equal(t, told, 23, "told of %d rows, want 2, then 3", told)
	broken := errors.New("broken")
	expect.ErrorIs(t, Write(&b, nil, func(string) (*api.List[string], error) { return nil, broken }, id, row, nil), broken, "Write")
	expect.True(t, Write(full{}, []string{"x"}, list, id, row, nil) != nil, "a full disk is no error")
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no room") }
