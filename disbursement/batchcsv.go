package disbursement

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/payout"
)

// csvColumns maps a column to the function that sets a row's field from a cell.
var csvColumns = map[string]func(r *RowParams, cell string) error{
	"amount":         func(r *RowParams, cell string) (err error) { r.Amount, err = parseGHS(cell); return err },
	"currency":       func(r *RowParams, cell string) error { r.Currency = cell; return nil },
	"type":           func(r *RowParams, cell string) error { r.Destination.Type = payout.Type(cell); return nil },
	"phone_number":   func(r *RowParams, cell string) error { r.Destination.PhoneNumber = cell; return nil },
	"provider":       func(r *RowParams, cell string) error { r.Destination.Provider = cell; return nil },
	"account_number": func(r *RowParams, cell string) error { r.Destination.AccountNumber = cell; return nil },
	"bank_code":      func(r *RowParams, cell string) error { r.Destination.BankCode = cell; return nil },
	"account_name":   func(r *RowParams, cell string) error { r.Destination.AccountName = cell; return nil },
	"match_account_name": func(r *RowParams, cell string) (err error) {
		r.Destination.MatchName, err = parseBool(cell)
		return err
	},
	"service_id":      func(r *RowParams, cell string) error { r.Destination.ServiceID = cell; return nil },
	"account_id":      func(r *RowParams, cell string) error { r.Destination.AccountID = cell; return nil },
	"description":     func(r *RowParams, cell string) error { r.Description = cell; return nil },
	"reference":       func(r *RowParams, cell string) error { r.Reference = cell; return nil },
	"idempotency_key": func(r *RowParams, cell string) error { r.IdempotencyKey = cell; return nil },
}

func parseGHS(text string) (decimal.Decimal, error) {
	d, err := money.ParseGHS(text)
	if err != nil {
		return d, errAmount
	}
	return d, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errBool
}

// ReadRows reads the rows of a batch from CSV (RFC 4180, UTF-8, separated by commas; lines may end with CR). The
// first line names the columns, in any order. amount and type are required. The others are currency, phone_number,
// provider, account_number, bank_code, account_name, match_account_name, service_id, account_id, description,
// reference, idempotency_key, and metadata.<key> for any key. An empty cell leaves its field out. ReadRows ignores
// space around a cell, and empty lines.
//
// Refusals: parameter_invalid and parameter_missing. Their parameters are those of
// [Service.CreateBatch], for example rows[2].amount. Their messages name the line.
func ReadRows(r io.Reader) ([]RowParams, error) {
	c := spreadsheet.NewReader(r)
	head, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, api.Missing("rows")
	}
	if separator := c.Separator(); separator != 0 {
		return nil, api.Invalid("rows", "The first line has %q between the names of its columns. Save the file with commas.", separator)
	}
	if err != nil {
		return nil, csvError(err)
	}
	columns := make([]string, len(head))
	for i, name := range head {
		columns[i] = strings.TrimSpace(name)
		key, isMetadata := strings.CutPrefix(columns[i], "metadata.")
		if csvColumns[columns[i]] == nil && (!isMetadata || key == "") {
			return nil, api.Invalid("rows", "Column %d of the first line is none that a batch has. The columns are %s and metadata.<key>.", i+1, known())
		}
		if slices.Contains(columns[:i], columns[i]) {
			return nil, api.Invalid("rows", "Columns %d and %d of the first line have the same name.", slices.Index(columns, columns[i])+1, i+1)
		}
	}
	for _, name := range []string{"amount", "type"} {
		if !slices.Contains(columns, name) {
			return nil, api.Errorf(api.ParameterMissing, "rows", "The first line has no column %s.", name)
		}
	}
	var all []RowParams
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := c.FieldPos(0)
		var row RowParams
		filled := false
		for i, cell := range record {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			if len(all) == MaxRows {
				return nil, api.Invalid("rows", "There are more than %d rows. Make several batches of them.", MaxRows)
			}
			filled = true
			if err := row.set(columns[i], strings.Clone(cell)); err != nil {
				return nil, api.Invalid(fmt.Sprintf("rows[%d].%s", len(all), columns[i]), "Line %d: %s %s.", line, columns[i], err)
			}
		}
		if filled { // a line of commas alone counts as empty
			all = append(all, row)
		}
	}
	if len(all) == 0 {
		return nil, api.Missing("rows")
	}
	return all, nil
}

func (r *RowParams) set(column, cell string) error {
	if set := csvColumns[column]; set != nil {
		return set(r, cell)
	}
	if r.Metadata == nil {
		r.Metadata = api.Metadata{}
	}
	r.Metadata[strings.TrimPrefix(column, "metadata.")] = cell
	return nil
}

func known() string {
	names := make([]string, 0, len(csvColumns))
	for name := range csvColumns {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// csvError names the line at which a text is not CSV. Its cause may be the reader's own error.
func csvError(err error) error {
	var broken *csv.ParseError
	if !errors.As(err, &broken) {
		return fmt.Errorf("disbursement: read rows: %w", err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return api.Invalid("rows", "Line %d has not as many columns as the first line.", broken.Line).WithCause(err)
	}
	return api.Invalid("rows", "Line %d is not well-formed CSV; a quotation mark within a cell is written twice, and the cell in quotation marks.", broken.Line).WithCause(err)
}

// errAmount and errBool describe the form of a cell. Neither quotes it.
var (
	errAmount = errors.New("must be a number of GHS with at most two decimals, such as 150 or 150.50, without a separator of thousands")
	errBool   = errors.New("must be true or false")
)
