package postgres

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// arrayTypeMap returns the types of a connection that knows arrays.
func arrayTypeMap() *pgtype.Map {
	m := pgtype.NewMap()
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{planArray}, m.TryWrapEncodePlanFuncs...)
	return m
}

// same compares an array with pgx's encoding of the same values.
func same[T any](r *rapid.T, m *pgtype.Map, of, element uint32, values []*T) {
	a := array{element: element}
	for range 2 { // the second time in reused memory
		a.clear()
		for _, v := range values {
			if v == nil {
				a.add(nil)
			} else {
				a.add(any(*v))
			}
		}
		before := []byte("before")
		want := must.Get(m.Encode(of, pgtype.BinaryFormatCode, values, bytes.Clone(before)))(r)
		got, err := m.Encode(of, pgtype.BinaryFormatCode, &a, bytes.Clone(before))
		if err != nil || !bytes.Equal(got, want) {
			r.Fatalf("%v: %x, %v; want %x", values, got, err, want)
		}
		if format := m.FormatCodeForOID(of); format != pgtype.BinaryFormatCode {
			r.Fatalf("arrays go out in format %d", format)
		}
	}
}

// An array is encoded as pgx would encode its values.
func TestArraysEncodeLikePgx(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := arrayTypeMap()
		same(r, m, pgtype.TextArrayOID, pgtype.TextOID, rapid.SliceOfN(rapid.Ptr(rapid.String(), true), 1, 20).Draw(r, "texts"))
		same(r, m, pgtype.Int8ArrayOID, pgtype.Int8OID, rapid.SliceOfN(rapid.Ptr(rapid.Int64(), true), 1, 20).Draw(r, "numbers"))
		same(r, m, pgtype.BoolArrayOID, pgtype.BoolOID, rapid.SliceOfN(rapid.Ptr(rapid.Bool(), true), 1, 20).Draw(r, "booleans"))
		// pgx would encode the pointer to a nil slice as null.
		data := rapid.SliceOfN(rapid.Byte(), 1, 50)
		same(r, m, pgtype.ByteaArrayOID, pgtype.ByteaOID, rapid.SliceOfN(rapid.Ptr(data, true), 1, 20).Draw(r, "documents"))
	})
}

// A value of another type is an error. A tracer of statements sees no value.
func TestArrayRefusesOtherTypes(t *testing.T) {
	a := array{element: pgtype.TextOID}
	a.add("0241234567")
	if text := a.String(); strings.Contains(text, "024") {
		t.Errorf("a trace shows %q", text)
	}
	a.add(5.5)
	if _, err := arrayTypeMap().Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, &a, nil); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("a float: %v", err)
	}
	a.clear()
	a.add("x")
	if _, err := arrayTypeMap().Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, &a, nil); err != nil {
		t.Errorf("after it was emptied: %v", err)
	}
}

// pgx's buffers grow once for a batch, to what its statements need.
func TestBatchIsEncodedWithoutGrowingTwice(t *testing.T) {
	records, entries := rows{{element: pgtype.TextOID}, {element: pgtype.BoolOID}, {element: pgtype.ByteaOID}}, rows{{element: pgtype.TextOID}, {element: pgtype.Int8OID}}
	for i := range 300 {
		records.add(strings.Repeat("x", i), true, nil)
		entries.add("a", int64(i))
	}
	var b pgx.Batch
	b.Queue("INSERT", records.args()...)
	b.Queue("UPDATE", entries.args(300)...)
	b.Queue("INSERT", int64(1), int64(2), make([]byte, 5000))
	b.Queue("COMMIT")
	m := arrayTypeMap()
	out := must.Get(roomOf(&b).Encode(nil))(t)
	room := cap(out)
	for _, q := range b.QueuedQueries {
		bind := pgproto3.Bind{PreparedStatement: "stmtcache_0123456789abcdef0123456789abcdef0123456789abcdef"}
		var values []byte
		for i, arg := range q.Arguments {
			first, from := cap(values), len(values)
			switch arg := arg.(type) {
			case *array:
				values = must.Get(arrayPlan{}.Encode(arg, values))(t)
			case []byte:
				values = append(values, arg...)
			default:
				values = must.Get(m.Encode(pgtype.Int8OID, pgtype.BinaryFormatCode, arg, values))(t)
			}
			if _, ofArrays := q.Arguments[0].(*array); ofArrays && i > 0 && cap(values) != first {
				t.Errorf("%s: argument %d makes the values grow from %d to %d bytes", q.SQL, i, first, cap(values))
			}
			bind.Parameters = append(bind.Parameters, values[from:])
		}
		out = must.Get(bind.Encode(out))(t)
	}
	if cap(out) != room {
		t.Errorf("the batch grows from %d to %d bytes", room, cap(out))
	}
}
