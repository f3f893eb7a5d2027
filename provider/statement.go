package provider

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
)

// Row is a line of a provider's statement.
type Row struct {
	// Reference is the library's id of the order, as in [Order].ID: po_… (transfer), re_… (refund),
	// and pay_…, tu_… or att_… (charge).
	Reference string
	// Amount is in GHS, without the library's fee.
	Amount decimal.Decimal
	// Status is in the provider's words; see [ReconcileParams].
	Status string
	// Fee is the provider's own fee in GHS; nil if the statement does not say.
	Fee *decimal.Decimal
	// Settlement says that the row is no order but a settlement, which has its own Reference. Its Amount
	// is what the operator's bank account has got, and negative for what the operator has paid in.
	Settlement bool
	// Flow is what kind of order the row is; empty if the statement does not say. The Reference of an
	// order of the library says it, too.
	Flow Flow
}

// RowReader reads a provider's statement. It returns io.EOF at the end.
type RowReader interface {
	Read() (Row, error)
}

// ReconcileParams describes a provider's statement.
type ReconcileParams struct {
	// Rows are the statement; see [CSV]. They are required.
	Rows RowReader
	// Flows are the flows of orders that the statement covers; all when empty. Rows of
	// other flows are MissingHere.
	Flows []Flow
	// Route is the name of the provider whose statement it is, as in [Order]. If it is empty, the
	// statement covers the orders of all providers, and its settlements are of the one without a name.
	Route string
	// Book books what the statement tells and the books lack: the provider's fees of orders that
	// match, and settlements that are paid. To read a statement again changes nothing. Only the operator
	// may book: a caller without Merchant. Providers that have names need a Route.
	Book bool
	// From and Until bound the creation time of the orders that the statement must contain. An
	// order of this period that is not in the statement is in MissingThere. A zero time leaves that
	// end open.
	From, Until time.Time
	// Outcomes translates the provider's words, exactly as the statement has them, into outcomes. Known
	// words, in any case, need no entry. succeeded, success, successful, completed and paid are Paid.
	// failed, failure, rejected and refused are Refused. reversed is Reversed. pending, processing and
	// in_progress are InProgress. A row with any other word is in StatusDiffers. Refused and Reversed
	// agree with each other: both say that the recipient does not have the money.
	Outcomes map[string]Outcome
}

// Difference is a row that disagrees with an order, a row without an order, or an order without a
// row.
type Difference struct {
	Row   Row        // zero for an order that the statement does not have
	Order *OrderInfo // nil for a row without an order of the library
}

// Reconciliation is the outcome of comparing a statement with the library's orders.
type Reconciliation struct {
	Matched int
	// MissingHere are rows whose reference is no order of the library.
	MissingHere []Difference
	// MissingThere are orders that the provider got and the statement does not have.
	MissingThere []Difference
	// AmountDiffers, StatusDiffers, FeeDiffers and RouteDiffers are rows that disagree with the order. A row
	// that disagrees in several is in each. A settlement that was recorded with another amount
	// or fee is in AmountDiffers, one that was not recorded in MissingHere, and one that is not paid in
	// StatusDiffers.
	AmountDiffers []Difference
	StatusDiffers []Difference
	FeeDiffers    []Difference
	RouteDiffers  []Difference
	// Booked are the matching rows whose fee or settlement was booked; see [ReconcileParams].
	Booked []Row
	// Repeated are rows whose reference occurred earlier in the statement.
	Repeated []Row
}

var knownOutcomes = map[string]Outcome{
	"succeeded": Paid, "success": Paid, "successful": Paid, "completed": Paid, "paid": Paid,
	"failed": Refused, "failure": Refused, "rejected": Refused, "refused": Refused, "reversed": Reversed,
	"pending": InProgress, "processing": InProgress, "in_progress": InProgress,
}

// Outcome translates a word of the provider; it returns "" for an unknown word.
func (p *ReconcileParams) Outcome(word string) Outcome {
	if outcome, ok := p.Outcomes[word]; ok {
		return outcome
	}
	return knownOutcomes[strings.ToLower(strings.TrimSpace(word))]
}

// CSV reads a statement as comma-separated values. The first line names the columns. It must have
// reference, amount and status, in any order and in upper or lower case. It may have fee, in GHS, and
// type: "settlement", "charge", "transfer" or "refund". CSV ignores other columns, but refuses two of one
// name. Lines end with LF, CRLF or CR.
func CSV(r io.Reader) RowReader { return &csvRows{csv: spreadsheet.NewReader(r)} }

type csvRows struct {
	csv     *spreadsheet.Reader
	columns []int // of the names in columnNames, -1 where there is none; nil before the first line
}

// columnNames are the columns of a statement. The first three must be there.
var columnNames = []string{"reference", "amount", "status", "fee", "type"}

func (c *csvRows) Read() (Row, error) {
	if c.columns == nil {
		if err := c.head(); err != nil {
			return Row{}, err
		}
	}
	line, err := c.csv.Read()
	if err != nil {
		return Row{}, err
	}
	n, _ := c.csv.FieldPos(0)
	amount, err := money.ParseGHS(strings.TrimSpace(line[c.columns[1]]))
	if err != nil {
		return Row{}, fmt.Errorf("line %d: the amount is %w", n, err)
	}
	row := Row{
		Reference: strings.TrimSpace(line[c.columns[0]]), Amount: amount, Status: strings.TrimSpace(line[c.columns[2]]),
	}
	if i := c.columns[3]; i >= 0 && strings.TrimSpace(line[i]) != "" {
		fee, err := money.ParseGHS(strings.TrimSpace(line[i]))
		if err != nil {
			return Row{}, fmt.Errorf("line %d: the fee is %w", n, err)
		}
		row.Fee = &fee
	}
	if i := c.columns[4]; i >= 0 {
		switch kind := strings.ToLower(strings.TrimSpace(line[i])); Flow(kind) {
		case Transfers, Refunds, Charges:
			row.Flow = Flow(kind)
		default:
			row.Settlement = kind == "settlement"
		}
	}
	return row, nil
}

func (c *csvRows) head() error {
	line, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the statement is empty; its first line names the columns")
	}
	if separator := c.csv.Separator(); separator != 0 {
		return fmt.Errorf("the first line has %q between the names of its columns; save the file with commas", separator)
	}
	if err != nil {
		return err
	}
	names := map[string]int{}
	for at, name := range line {
		name = strings.ToLower(strings.TrimSpace(name))
		if first, ok := names[name]; ok && name != "" {
			return fmt.Errorf("columns %d and %d of the first line have the same name %q", first+1, at+1, name)
		}
		names[name] = at
	}
	c.columns = nil
	for i, wanted := range columnNames {
		found, ok := names[wanted]
		if !ok {
			found = -1
		}
		if found < 0 && i < 3 {
			c.columns = nil
			return fmt.Errorf("the first line names no column %q", wanted)
		}
		c.columns = append(c.columns, found)
	}
	return nil
}
