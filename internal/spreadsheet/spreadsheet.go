// Package spreadsheet writes CSV that people open in a spreadsheet.
package spreadsheet

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// Write writes a head and the rows of all pages of a list, page by page, so that it takes little
// memory and blocks no other caller. id names the object after which the next page begins.
// progress, unless it is nil, is called after each page with how many rows are written. Without w it
// answers parameter_missing. A head that begins with [Mark] marks the file.
func Write[T any](
	w io.Writer, head []string, list func(after string) (*api.List[T], error), id func(*T) string, row func(*T) []string, progress func(rows int),
) error {
	if w == nil {
		return api.Missing("writer")
	}
	rows := 0
	c := csv.NewWriter(w)
	if err := c.Write(head); err != nil {
		return fmt.Errorf("spreadsheet: %w", err)
	}
	for after := ""; ; {
		page, err := list(after)
		if err != nil {
			return err
		}
		for i := range page.Data {
			if err := c.Write(row(&page.Data[i])); err != nil {
				return fmt.Errorf("spreadsheet: %w", err)
			}
		}
		c.Flush()
		if err := c.Error(); err != nil {
			return fmt.Errorf("spreadsheet: %w", err)
		}
		if rows += len(page.Data); progress != nil {
			progress(rows)
		}
		if !page.HasMore {
			return nil
		}
		after = id(&page.Data[len(page.Data)-1])
	}
}

// formulas are the characters with which a spreadsheet begins a formula. The last four
// are full-width forms, which a spreadsheet in an East Asian language reads as =, +, -, @.
const formulas = "=+-@\t\r\n|%＝＋－＠"

// Text is what people wrote, or "" for nil. What a spreadsheet would take for a
// formula has an apostrophe before it.
func Text(s *string) string {
	if s == nil || *s == "" {
		return ""
	}
	if first, _ := utf8.DecodeRuneInString(*s); strings.ContainsRune(formulas, first) {
		return "'" + *s
	}
	return *s
}

// Phone is a number of the form +233XXXXXXXXX, whose plus is no formula.
func Phone(s *string) string {
	if s != nil && strings.HasPrefix(*s, "+") && strings.Trim((*s)[1:], "0123456789") == "" {
		return *s
	}
	return Text(s)
}

// GHS writes pesewas as GHS with two decimals.
func GHS(pesewas int64) string { return decimal.New(pesewas, -2).StringFixed(2) }

// Time is a time in UTC, or "" for nil.
func Time(t *api.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
