package postgres

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-7082ffec/payments/storage"
)

// array is an array parameter: the values of one column in many rows, in the binary form
// of the protocol. pgx would encode it value by value, into a buffer that grows with each
// statement. array encodes values as they come, into memory that is reused, and is copied
// once. See docs/notes/performance.md.
//
// [registerArrays] makes a connection accept it.
type array struct {
	element uint32 // the OID of the elements' type
	n       int
	nulls   bool
	data    []byte // the elements, each after its length
	// room is for how many bytes the plan makes room first: for those of the whole statement.
	room int
	err  error
}

var elementOID = map[storage.Type]uint32{
	storage.Text: pgtype.TextOID, storage.Int: pgtype.Int8OID, storage.Bool: pgtype.BoolOID, storage.Time: pgtype.Int8OID, 0: pgtype.ByteaOID,
}

// add adds a value of the elements' type, or nil.
func (a *array) add(v any) {
	switch v := v.(type) {
	case nil:
		a.n, a.nulls = a.n+1, true
		a.data = append(a.data, 0xff, 0xff, 0xff, 0xff)
	case string:
		a.length(len(v))
		a.data = append(a.data, v...)
	case []byte:
		a.length(len(v))
		a.data = append(a.data, v...)
	case int64:
		a.length(8)
		a.data = binary.BigEndian.AppendUint64(a.data, uint64(v))
	case bool:
		b := byte(0)
		if v {
			b = 1
		}
		a.length(1)
		a.data = append(a.data, b)
	default:
		a.err = fmt.Errorf("%w: postgres: a column holds a %T", storage.ErrInvalid, v)
	}
}

func (a *array) length(n int) { a.n, a.data = a.n+1, binary.BigEndian.AppendUint32(a.data, uint32(n)) }

// maxKeptCapacity is up to how many bytes clear keeps the memory.
const maxKeptCapacity = 1 << 20

// clear empties the array and keeps its memory.
func (a *array) clear() {
	a.n, a.nulls, a.room, a.err, a.data = 0, false, 0, nil, a.data[:0]
	if cap(a.data) > maxKeptCapacity {
		a.data = nil
	}
}

// String returns the length alone: a host may trace arguments.
func (a *array) String() string { return fmt.Sprint(a.n, " values") }

// arrayPlan encodes arrays for pgx.
type arrayPlan struct{}

// SetNext implements [pgtype.WrappedEncodePlanNextSetter]. There is no next plan.
func (arrayPlan) SetNext(pgtype.EncodePlan) {}

// Encode implements [pgtype.EncodePlan].
func (arrayPlan) Encode(value any, to []byte) ([]byte, error) {
	a := value.(*array)
	if a.err != nil {
		return nil, a.err
	}
	to = slices.Grow(to, a.room)
	dimensions, nulls := uint32(1), uint32(0)
	if a.nulls {
		nulls = 1
	}
	for _, n := range []uint32{dimensions, nulls, a.element, uint32(a.n), 1} { // from index 1 on
		to = binary.BigEndian.AppendUint32(to, n)
	}
	return append(to, a.data...), nil
}

// planArray is a [pgtype.TryWrapEncodePlanFunc]. pgx requires a value that it could
// encode itself.
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

// arraysRegistered is the key under which a connection notes that it accepts arrays.
const arraysRegistered = "github.com/seed-7082ffec/payments/storage/postgres"

// registerArrays makes a connection accept arrays. It affects no other user of the
// connection: the type belongs to this package.
func registerArrays(c *pgx.Conn) {
	known := c.PgConn().CustomData()
	if known[arraysRegistered] != nil {
		return
	}
	known[arraysRegistered] = true
	m := c.TypeMap()
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{planArray}, m.TryWrapEncodePlanFuncs...)
}

// rows are rows stored by column.
type rows []array

func (r rows) add(values ...any) {
	for i, v := range values {
		r[i].add(v)
	}
}

func (r rows) clear() {
	for i := range r {
		r[i].clear()
	}
}

const (
	arrayHeader = 5 * 4 // bytes before the elements of an array
	maxNumber   = 8     // bytes of a number
)

// args returns the arrays, followed by numbers.
func (r rows) args(more ...any) []any {
	args := make([]any, 0, len(r)+len(more))
	size := maxNumber * len(more)
	for i := range r {
		args = append(args, &r[i])
		size += arrayHeader + len(r[i].data)
	}
	r[0].room = size
	return append(args, more...)
}

// room is a message of no bytes, for which pgx's buffer makes room for so many that follow.
type room int

// Frontend implements [pgproto3.FrontendMessage].
func (room) Frontend() {}

// Decode implements [pgproto3.Message].
func (room) Decode([]byte) error { return nil }

// Encode implements [pgproto3.Message].
func (n room) Encode(to []byte) ([]byte, error) { return slices.Grow(to, int(n)), nil }

// roomOf returns enough room for a batch. Without it pgx's buffer, which begins small with each
// batch, would grow a dozen times, and each time be copied.
func roomOf(b *pgx.Batch) room {
	const statement, argument = 200, 8 // bytes of the protocol
	n := 0
	for _, q := range b.QueuedQueries {
		n += statement
		for _, arg := range q.Arguments {
			n += argument
			switch arg := arg.(type) {
			case *array:
				n += arg.room // of the first one, for all
			case []byte:
				n += len(arg)
			case []int64:
				n += (maxNumber + argument) * len(arg)
			default:
				n += maxNumber
			}
		}
	}
	return room(n)
}
