package inspector

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// page is the content of a page. The Live sections are updated while the page is open.
type page struct {
	Title string
	// NavPath is the path of the page's entry in the navigation; "." for the first.
	NavPath         string
	Notice, Problem string
	Filter          []field
	Forms           []*form
	Static, Live    []section
	// NextPage is the address of the next page of a list.
	NextPage string
}

// section is a part of a page. The template leaves empty fields out.
type section struct {
	Title string
	// Text is a paragraph; Verbatim keeps its lines.
	Text, Verbatim string
	Facts          []fact
	// Picture is the address of an image, PictureText what it shows.
	Picture, PictureText string
	// Frame is the address of an e-mail.
	Frame string
	Table *table
	// Empty is the text in place of Rows.
	Rows  []row
	Empty string
	// More is the address of the whole list.
	More string
	// Buttons are forms without fields.
	Buttons []*form
	// JSON is the object as the API returns it.
	JSON string
}

// fact is a name with its value.
type fact struct {
	Name, Value string
	Href        string
	// State shows the value as a badge; Code as something to copy.
	State, Code bool
	// Wide gives a long value a line of its own.
	Wide bool
}

// row is one object in a list.
type row struct {
	Href, Title, Detail string
	Amount, State       string
	At                  api.Time
}

type table struct {
	Caption string
	Head    []string
	Rows    [][]string
	// Numbers says that the last column has amounts.
	Numbers bool
}

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/style.css assets/live.js
	assetFiles embed.FS

	// assets are the files that pages load. Their names contain a hash of the content, so
	// browsers may cache them forever.
	assets = map[string]asset{}

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": assetName, "badgeTone": badgeTone,
		"within": func(s section, page templateData) map[string]any { return map[string]any{"Section": s, "Page": page} },
		"inForm": func(f field, form string) map[string]any { return map[string]any{"Field": f, "Form": form} },
	}).Parse(pageHTML))
)

type asset struct {
	contentType string
	data        []byte
}

var assetNames = func() map[string]string {
	names := map[string]string{}
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8"} {
		data, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		sum := sha256.Sum256(data)
		stem, ending, _ := strings.Cut(name, ".")
		names[name] = stem + "-" + hex.EncodeToString(sum[:6]) + "." + ending
		assets[names[name]] = asset{kind, data}
	}
	return names
}()

func assetName(name string) string { return assetNames[name] }

func serveAsset(w http.ResponseWriter, r *http.Request, name string) error {
	a, ok := assets[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errNoPage
	}
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.data) // an error means that the client has gone
	return nil
}

// templateData is the template's data.
type templateData struct {
	*page
	Root, Base string
	Merchant   string
	Nav        []navEntry
	Token      string
	// Version is a hash of the live sections.
	Version string
	// Follow says that the page has live sections.
	Follow bool
}

// navEntry is a link of the navigation.
type navEntry struct{ Path, Name string }

var navigation = []navEntry{
	{"", "Overview"},
	{"ledger", "Ledger"},
	{"qr-codes", "QR codes"},
	{"payments", "Payments"},
	{"refunds", "Refunds"},
	{"payouts", "Payouts"},
	{"disbursements", "Disbursements"},
	{"batches", "Batches"},
	{"invoices", "Invoices"},
	{"products", "Products"},
	{"coupons", "Coupons"},
	{"plans", "Plans"},
	{"customers", "Customers"},
	{"messages", "Messages"},
	{"events", "Events"},
	{"webhooks", "Webhooks"},
	{"sandbox", "Sandbox"},
}

// show renders and writes a page.
func (v *visit) show(w http.ResponseWriter, status int, p *page) error {
	s := templateData{page: p, Root: v.root, Base: v.base, Follow: len(p.Live) > 0 && status == http.StatusOK}
	if v.merchant != nil {
		s.Merchant, s.Nav, s.Token = v.merchant.Name, navigation, v.token()
	}
	if s.Follow {
		_, version, err := v.live(p)
		if err != nil {
			return err
		}
		s.Version = version
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page", s); err != nil {
		return fmt.Errorf("inspector: render page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the client has gone
	return nil
}

// live renders the live sections, without a token, and returns their version.
func (v *visit) live(p *page) (html []byte, version string, err error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "live", templateData{page: p, Root: v.root, Base: v.base}); err != nil {
		return nil, "", fmt.Errorf("inspector: render: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:8]), nil
}

// badgeTone returns the colour class of a state's badge.
func badgeTone(state string) string {
	switch state {
	case "completed", "succeeded", "paid", "delivered", "active", "verified":
		return "good"
	case "failed", "void", "uncollectible", "cancelled", "canceled", "inactive", "frozen", "suspended", "closed", "expired", "refused":
		return "bad"
	case "pending", "processing", "open", "created", "queued":
		return "wait"
	}
	return "plain"
}

// formatPesewas formats pesewas as "GHS 12.50".
func formatPesewas(pesewas int64) string { return "GHS " + money.Text(pesewas) }

// formatOptionalPesewas formats pesewas; nil gives "".
func formatOptionalPesewas(pesewas *int64) string {
	if pesewas == nil {
		return ""
	}
	return formatPesewas(*pesewas)
}

// formatGHS formats an amount in GHS as "GHS 12.50".
func formatGHS(a api.GHS) string { return formatPesewas(a.Shift(2).IntPart()) }

// indentJSON returns an object's JSON as the API returns it, indented.
func indentJSON(v any) string {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return ""
	}
	return b.String()
}

// formatOptionalTime formats a time; nil gives "".
func formatOptionalTime(t *api.Time) string {
	if t == nil {
		return ""
	}
	return formatTime(*t)
}

func formatTime(t api.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// orEmpty returns *s, or "" for nil.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// joinNonEmpty joins the parts that are not empty.
func joinNonEmpty(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, " · ")
}

// nonEmpty returns the facts that have a value.
func nonEmpty(facts ...fact) []fact {
	var kept []fact
	for _, f := range facts {
		if f.Value != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// nextPage returns the address of the next page, with the same filters.
func nextPage[T any](v *visit, list *api.List[T], id func(*T) string) string {
	if !list.HasMore || len(list.Data) == 0 {
		return ""
	}
	q := v.URL.Query()
	q.Del("done")
	q.Set("after", id(&list.Data[len(list.Data)-1]))
	return "?" + q.Encode()
}

// rowsOf returns the rows of a list.
func rowsOf[T any](list *api.List[T], show func(*T) row) []row {
	rows := make([]row, len(list.Data))
	for i := range list.Data {
		rows[i] = show(&list.Data[i])
	}
	return rows
}
