package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const library = "github.com/seed-7082ffec/payments"

// imports are the packages that snippets use, by name.
var imports = map[string]string{
	"base64": "encoding/base64", "context": "context", "errors": "errors", "json": "encoding/json", "filepath": "path/filepath", "fmt": "fmt", "http": "net/http", "netip": "net/netip",
	"os": "os", "slog": "log/slog", "testing": "testing", "time": "time", "decimal": "github.com/shopspring/decimal",
	"pgx": "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool",
	"payments": library, "account": library + "/account", "api": library + "/api", "catalog": library + "/catalog", "checkout": library + "/checkout",
	"disbursement": library + "/disbursement", "event": library + "/event", "invoice": library + "/invoice",
	"message": library + "/message", "payment": library + "/payment", "railtest": library + "/provider/railtest", "chargertest": library + "/provider/chargertest",
	"paystack": library + "/provider/paystack", "paystacktest": library + "/provider/paystack/paystacktest", "httptest": "net/http/httptest",
	"arkesel": library + "/provider/arkesel", "arkeseltest": library + "/provider/arkesel/arkeseltest", "hubtel": library + "/provider/hubtel",
	"smtp":    library + "/provider/smtp",
	"mtnmomo": library + "/provider/mtnmomo", "mtnmomotest": library + "/provider/mtnmomo/mtnmomotest",
	"httpapi": library + "/httpapi", "inspector": library + "/httpapi/inspector", "paymentstest": library + "/httpapi/paymentstest",
	"payout": library + "/payout", "postgres": library + "/storage/postgres", "provider": library + "/provider",
	"qrcode": library + "/qrcode", "reference": library + "/httpapi/reference", "refund": library + "/refund",
	"memory": library + "/storage/memory", "sqlite": library + "/storage/sqlite", "subscription": library + "/subscription", "storage": library + "/storage", "storagetest": library + "/storage/storagetest",
	"webhook": library + "/webhook",
}

// given are the types of the variables that snippets use and do not declare.
var given = map[string]string{
	"ctx": "context.Context", "store": "*sqlite.Store", "svc": "*payments.Service", "mux": "*http.ServeMux",
	"server": "*http.Server", "caller": "api.Caller", "pool": "*pgxpool.Pool", "params": "disbursement.CreateParams",
	"secret": "string", "yesterday": "time.Time", "today": "time.Time", "token": "string", "reference": "string", "pesewas": "int64", "directory": "string",
	"key": "[]byte", "oldKey": "[]byte", "file": "*os.File", "source": "storage.Store", "target": "storage.Store",
	"code": "string", "consumer": "string", "endpoint": "*webhook.Endpoint", "entered": "string", "eventID": "string", "id": "string",
	"inv": "*invoice.Invoice", "juice": "*catalog.Product", "welcome": "*catalog.Coupon", "weekly": "*catalog.Plan", "newest": "string", "payload": "string", "pin": "string",
	"paid": "*payment.Payment", "r": "*refund.Refund", "mtn": "*mtnmomo.Client",
	"myprovider": "struct{ New func(token string) provider.Rail; NewCharger func(token string) provider.Charger }",
	"mystore":    "struct{ Open func(dir string) storage.Store }",
}

var fences = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestSnippets type-checks each Go snippet of the README and of docs.
func TestSnippets(t *testing.T) {
	exports, n := exportData(t, root), 0
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(page))(t)
		for _, at := range fences.FindAllSubmatchIndex(text, -1) {
			n++
			line := 1 + strings.Count(string(text[:at[2]]), "\n")
			expect.NoError(t, check(string(text[at[2]:at[3]]), exports), "%s, line %d", page, line)
		}
	}
	expect.True(t, n >= 40, "found %d snippets only", n)
	expect.True(t, check("svc.Payments.Vanish(ctx)\n", exports) != nil, "a call that does not exist passes")
}

// exportData returns where the export data of each package lies.
func exportData(t *testing.T, dir string) map[string]string {
	t.Helper()
	args := slices.Collect(maps.Values(imports))
	command := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, args...)...)
	command.Dir = dir
	out := must.Get(command.Output())(t)
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
}

// check type-checks a snippet, with the imports and variables that it leaves out. Variables
// that are not used pass: the text after the snippet uses them.
func check(snippet string, exports map[string]string) error {
	if !strings.HasPrefix(snippet, "func ") {
		snippet = "func _() {\n" + snippet + "}\n"
	}
	files := token.NewFileSet()
	bare, err := parser.ParseFile(files, "snippet.go", "package snippet\n"+snippet, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	used, variables := map[string]bool{}, "" // packages, declarations
	packages := func(text string) {
		for _, m := range regexp.MustCompile(`\b([a-z]+)\.[A-Z]`).FindAllStringSubmatch(text, -1) {
			used[m[1]] = imports[m[1]] != ""
		}
	}
	names := map[string]bool{}
	ast.Inspect(bare, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used[x.Name] = true
				return false
			}
		case *ast.Ident:
			names[n.Name] = true
		}
		return true
	})
	for name := range names {
		kind := given[name]
		if name == "store" && names["pool"] {
			kind = "*postgres.Store"
		}
		if kind != "" && !used[name] {
			variables += "var " + name + " " + kind + "\n"
			packages(kind)
		}
	}
	head := "package snippet\n"
	for name := range used {
		head += fmt.Sprintf("import %q\n", imports[name])
	}
	file, err := parser.ParseFile(files, "snippet.go", head+variables+snippet, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var hard []error
	config := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); !ok || !e.Soft {
				hard = append(hard, err)
			}
		},
	}
	_, _ = config.Check("snippet", files, []*ast.File{file}, nil) // Error has what it returns
	return errors.Join(hard...)
}
