package payments_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

var update = flag.Bool("update", false, "write testdata/kinds.txt")

// A store of an earlier release has the tables of testdata/kinds.txt. Columns may be
// added at the end of a kind, never changed or removed.
func TestKindsKeepTheirDefinitions(t *testing.T) {
	types := map[storage.Type]string{storage.Text: "text", storage.Int: "int", storage.Bool: "bool", storage.Time: "time"}
	var blocks []string
	for _, k := range payments.Kinds() {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", k.Name)
		for _, c := range k.Columns {
			fmt.Fprintf(&b, "  %s %s", c.Name, types[c.Type])
			if c.Null {
				b.WriteString(" null")
			}
			if c.Indexed {
				b.WriteString(" indexed")
			}
			if len(c.OneOf) > 0 {
				fmt.Fprintf(&b, " one of %q", c.OneOf)
			}
			b.WriteString("\n")
		}
		for _, key := range k.Keys {
			fmt.Fprintf(&b, "  unique %s %v, global %t\n", key.Name, key.Columns, key.Global)
		}
		if k.Due != "" {
			fmt.Fprintf(&b, "  due by %s\n", k.Due)
		}
		blocks = append(blocks, b.String())
	}
	slices.Sort(blocks)
	got := strings.Join(blocks, "")
	const golden = "testdata/kinds.txt"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	expect.Same(t, strings.Split(got, "\n"), strings.Split(string(want), "\n"), "-golden +got; to accept added columns and kinds, run with -update")
}
