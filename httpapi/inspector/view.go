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

// page is what the template shows. What is Live is kept up to date while the page
// is open.
type page struct {
	Title string
	// Under is the entry of the navigation that the page belongs to, by its path; "."
	// for the first.
	Under           string
	Notice, Problem string
	Filter          []field
	Forms           []*form
	Still, Live     []section
	// Older is the address of the next page of a list.
	Older string
}

// section is a part of a page. What is empty is left out.
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
	// Empty is said in place of rows where there are none.
	Rows  []row
	Empty string
	// More leads to the whole list.
	More string
	// Buttons are forms without fields.
	Buttons []*form
	// JSON is the object as the API shows it.
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

	// assets are what pages load, by names that change with the content, so that
	// browsers may keep them for good.
	assets = map[string]asset{}

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": assetName, "tone": tone,
		"within": func(s section, page shown) map[string]any { return map[string]any{"Section": s, "Page": page} },
		"inForm": func(f field, form string) map[string]any { return map[string]any{"Field": f, "Form": form} },
	}).Parse(pageHTML))
)

type asset struct {
	kind string
	data []byte
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
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.data) // an error means that nobody reads it
	return nil
}

// shown is everything that the template sees.
type shown struct {
	*page
	Root, Base string
	Merchant   string
	Nav        []entry
	Token      string
	// Version tells one state of what is live from the next.
	Version string
	// Follow says that the page has something live.
	Follow bool
}

// entry is a link of the navigation.
type entry struct{ Path, Name string }

var navigation = []entry{
	{"", "Overview"},
	{"ledger", "Ledger"},
	{"qr-codes", "QR codes"},
	{"payments", "Payments"},
	{"refunds", "Refunds"},
	{"payouts", "Payouts"},
	{"disbursements", "Disbursements"},
	{"batches", "Batches"},
	{"invoices", "Invoices"},
	{"customers", "Customers"},
	{"messages", "Messages"},
	{"events", "Events"},
	{"webhooks", "Webhooks"},
	{"sandbox", "Sandbox"},
}

// show writes a page.
func (v *visit) show(w http.ResponseWriter, status int, p *page) error {
	s := shown{page: p, Root: v.root, Base: v.base, Follow: len(p.Live) > 0 && status == http.StatusOK}
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
	_, _ = w.Write(b.Bytes()) // an error means that nobody reads it
	return nil
}

// live renders what is live, without a token, and names its version.
func (v *visit) live(p *page) (html []byte, version string, err error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "live", shown{page: p, Root: v.root, Base: v.base}); err != nil {
		return nil, "", fmt.Errorf("inspector: render: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:8]), nil
}

// tone is the colour of a state; the word is beside it.
func tone(state string) string {
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

// cedis writes pesewas for people.
func cedis(pesewas int64) string { return "GHS " + money.Text(pesewas) }

// ghs writes an amount of GHS for people.
func ghs(a api.GHS) string { return cedis(a.Shift(2).IntPart()) }

// asJSON shows an object as the API does.
func asJSON(v any) string {
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

// when writes a time, or nothing for none.
func when(t *api.Time) string {
	if t == nil {
		return ""
	}
	return clockText(*t)
}

func clockText(t api.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// orEmpty returns what a pointer holds, or nothing.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// joined puts together what is not empty.
func joined(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, " · ")
}

// known leaves out facts without a value.
func known(facts ...fact) []fact {
	var kept []fact
	for _, f := range facts {
		if f.Value != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// older is the address of the page after this one, with the same filters.
func older[T any](v *visit, list *api.List[T], id func(*T) string) string {
	if !list.HasMore || len(list.Data) == 0 {
		return ""
	}
	q := v.URL.Query()
	q.Del("done")
	q.Set("after", id(&list.Data[len(list.Data)-1]))
	return "?" + q.Encode()
}

// each makes rows of a list.
func each[T any](list *api.List[T], show func(*T) row) []row {
	rows := make([]row, len(list.Data))
	for i := range list.Data {
		rows[i] = show(&list.Data[i])
	}
	return rows
}
