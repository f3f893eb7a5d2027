package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-7082ffec/payments/storage"
)

// array is an array parameter: the values of one column in many rows, in the binary
// form of the protocol. pgx would encode it value by value at the end of a buffer that
// begins small with every statement and grows a little each time. Here it is encoded as
// the values come, into room that is kept, and copied once. Measured with
// `-bench HTTP/connections=64 ./storage/postgres`, a disbursement takes a fifth less
// processor time (cpu-us/op), and with `-bench Disbursement` 35 kB instead of 49.
//
// A connection is taught what it is by [teach].
type array struct {
	element uint32 // the OID of the elements' type
	n       int
	nulls   bool
	data    []byte // the elements, each after its length
	err     error
}

var elementOf = map[storage.Type]uint32{
	storage.Text: pgtype.TextOID, storage.Int: pgtype.Int8OID, storage.Bool: pgtype.BoolOID, storage.Time: pgtype.Int8OID,
}

// add adds a value of the elements' type, or nil.
func (a *array) add(v any) {
	switch v := v.(type) {
	case nil:
		a.n, a.nulls = a.n+1, true
		a.data = append(a.data, 0xff, 0xff, 0xff, 0xff)
	case string:
		a.text(v)
	case int64:
		a.integer(v)
	case bool:
		a.boolean(v)
	default:
		a.err = fmt.Errorf("%w: postgres: a column holds a %T", storage.ErrInvalid, v)
	}
}

func (a *array) length(n int) { a.n, a.data = a.n+1, binary.BigEndian.AppendUint32(a.data, uint32(n)) }

func (a *array) text(s string) {
	a.length(len(s))
	a.data = append(a.data, s...)
}

func (a *array) bytes(b []byte) {
	a.length(len(b))
	a.data = append(a.data, b...)
}

func (a *array) integer(n int64) {
	a.length(8)
	a.data = binary.BigEndian.AppendUint64(a.data, uint64(n))
}

func (a *array) boolean(v bool) {
	a.length(1)
	b := byte(0)
	if v {
		b = 1
	}
	a.data = append(a.data, b)
}

// maxRoom is how many bytes of room an array keeps.
const maxRoom = 1 << 20

// clear empties the array, and keeps its room.
func (a *array) clear() {
	a.n, a.nulls, a.err, a.data = 0, false, nil, a.data[:0]
	if cap(a.data) > maxRoom {
		a.data = nil
	}
}

// String says no more than how long it is: a host may trace what is sent.
func (a *array) String() string { return fmt.Sprint(a.n, " values") }

// arrayPlan encodes arrays for pgx.
type arrayPlan struct{}

// SetNext implements [pgtype.WrappedEncodePlanNextSetter]: nothing comes next.
func (arrayPlan) SetNext(pgtype.EncodePlan) {}

// Encode implements [pgtype.EncodePlan].
func (arrayPlan) Encode(value any, to []byte) ([]byte, error) {
	a := value.(*array)
	if a.err != nil {
		return nil, a.err
	}
	dimensions, nulls := uint32(1), uint32(0)
	if a.nulls {
		nulls = 1
	}
	for _, n := range []uint32{dimensions, nulls, a.element, uint32(a.n), 1} { // from index 1 on
		to = binary.BigEndian.AppendUint32(to, n)
	}
	return append(to, a.data...), nil
}

// planArray is a [pgtype.TryWrapEncodePlanFunc]. pgx demands a value that it could encode
// by itself.
func planArray(value any) (plan pgtype.WrappedEncodePlanNextSetter, like any, ok bool) {
	a, ok := value.(*array)
	if !ok {
		return nil, nil, false
	}
	switch a.element {
	case pgtype.Int8OID:
		like = pgtype.FlatArray[int64]{}
	case pgtype.BoolOID:
		like = pgtype.FlatArray[bool]{}
	case pgtype.ByteaOID:
		like = pgtype.FlatArray[[]byte]{}
	default:
		like = pgtype.FlatArray[string]{}
	}
	return arrayPlan{}, like, true
}

// taught is where a connection notes that it knows arrays.
const taught = "github.com/seed-7082ffec/payments/storage/postgres"

// teach tells a connection how an array is encoded. It changes nothing for others who
// use the connection: the type is this package's.
func teach(c *pgx.Conn) {
	known := c.PgConn().CustomData()
	if known[taught] != nil {
		return
	}
	known[taught] = true
	m := c.TypeMap()
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{planArray}, m.TryWrapEncodePlanFuncs...)
}

// rows are rows by column.
type rows []array

func newRows(elements ...uint32) rows {
	r := make(rows, len(elements))
	for i, of := range elements {
		r[i].element = of
	}
	return r
}

// add adds a row.
func (r rows) add(values ...any) {
	for i, v := range values {
		r[i].add(v)
	}
}

func (r rows) len() int { return r[0].n }

func (r rows) clear() {
	for i := range r {
		r[i].clear()
	}
}

// args returns the arrays, and what else a statement takes.
func (r rows) args(more ...any) []any {
	args := make([]any, 0, len(r)+len(more))
	for i := range r {
		args = append(args, &r[i])
	}
	return append(args, more...)
}
