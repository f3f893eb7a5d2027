package till_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/mutate/testdata/till"
)

func TestPut(t *testing.T) {
	var now time.Time
	tx := &till.Tx{Rows: map[string]int{}}
	held := &till.Till{Held: 1}
	if err := held.Put(tx, till.Max, now, now.Add(1)); err != nil || tx.Rows["held"] != 101 || held.Held != 101 || tx.Rows["puts"] != 1 {
		t.Fatal(err, tx, held)
	}
	if held.Put(tx, till.Max+1, now, now.Add(1)) == nil || held.Put(tx, 1, now, now) == nil {
		t.Fatal("too much, or too late, and taken")
	}
	held.Closed = true
	if held.Put(tx, 1, now, now.Add(1)) == nil {
		t.Fatal("a closed till took money")
	}
}

func TestFee(*testing.T) { till.Fee(3) }

func TestFails(t *testing.T) { t.Fatal("always, so that it judges no mutant") }
