package inspector

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the template and the script
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
)

// page is the content of a page. What Live and Side hold is updated while the page is open.
type page struct {
	Title string
	// row is that of the object in its list.
	row row
	// Amount stands in the heading in place of Title; nil for none.
	Amount, Badge any
	// Sentence says who paid whom with what, and when.
	Sentence template.HTML
	Back     link
	// NavPath is the path of the page's entry in the menu; "." for the first.
	NavPath string
	Notice  string
	Problem any // a text, or markup
	// Redirect leads elsewhere in place of the page.
	Redirect string
	// Forms are what can be done here. The head shows a button for each, but for the first Deciding.
	Forms    []*form
	Deciding int
	// Export is the address of a list as a file.
	Export string
	// Fixed keeps the head and the filter of a list out of the updates.
	Fixed  bool
	Tabs   []tab
	Filter []field
	Hidden []option
	Chips  []link
	// Once is shown in the answer to a form alone, such as a secret.
	Once *section
	Live []section
	// Side is the column on the right.
	Side []section
	// Shown is the form that fills the page.
	Shown *form
	// Counts are the numbers in the menu, by path.
	Counts map[string]int
}

// link is a text with its address.
type link struct{ Text, Href string }

// tab is a link above a list. Current marks that of the page.
type tab struct {
	link
	Current bool
}

// section is a part of a page. The template leaves empty fields out.
type section struct {
	ID, Title string
	// More is the link beside the title, and Aside a text there.
	More  *link
	Aside string
	// Half takes one of two columns; Panel draws a border.
	Half, Panel bool
	Text        string
	Tabs        []tab
	Picture     *link
	// Money are amounts, aligned to the right, and Facts all other values.
	Money, Facts []fact
	Figures      []fact
	Needs        []need
	Chart        template.HTML
	// Frame is the address of an e-mail.
	Frame    string
	Verbatim string
	Table    *table
	// Heads are those of the columns of Rows. Empty stands in place of them.
	Heads    [5]string
	Rows     []row
	Empty    empty
	Timeline []turn
	// Order says how Rows are ordered if not the newest first.
	Order string
	Pager []link
	// Forms are what can be done besides.
	Forms []*form
	// JSON is the object as the API returns it.
	JSON string
}

// fact is a name with its value; see [value].
type fact struct {
	Name, Value any
	Href        string
	// Below is the comparison under a figure.
	Below template.HTML
}

// need is something that a person must look after.
type need struct {
	Badge     badge
	Title     string
	Text      template.HTML
	Href, Act string
}

// empty says what would stand here, and how to make the first.
type empty struct {
	Title, Text string
	Action      *link
}

// row is one object in a list. Amount is a [cedis], a text, or nil. In place of the badge may stand another
// value.
type row struct {
	Href, Title, Below string
	// Number is that by which the sandbox decides what happens; empty for none.
	Number        string
	Amount, Badge any
	// Fee, and what arrives of Amount, stand in exports alone; nil for none.
	Fee, Net      any
	For, ForBelow string
	At            api.Time
	// Time is At by the merchant's clock.
	Time template.HTML
}

type table struct {
	Caption string
	// Numbers says that the last column has amounts.
	Numbers bool
	Head    []string
	Rows    [][]any
}

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/live.js
	liveJS []byte

	// assets are the files that pages load. Their addresses contain a hash of them all, so browsers may
	// cache them forever.
	assets = map[string]*file{
		"style.css": {contentType: "text/css; charset=utf-8", data: []byte(look.Shared + look.Console)},
		"live.js":   {contentType: "text/javascript; charset=utf-8", data: liveJS},
	}
	assetsHash = sha256.Sum256(slices.Concat(assets["style.css"].data, assets["live.js"].data))

	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return name + "?" + hex.EncodeToString(assetsHash[:6]) }, "value": value,
		"breakable": look.Breakable,
		"within":    func(part any, page templateData) map[string]any { return map[string]any{"Part": part, "Page": page} },
		"inForm": func(f field, form, wrong string) map[string]any {
			return map[string]any{"Field": f, "Form": form, "Wrong": wrong}
		},
	}).Parse(pageHTML))
)

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
	// Here is the page's own address, without a query.
	Here     string
	Merchant string
	Nav      []navGroup
	Token    string
	// Version is a hash of the live sections.
	Version string
	// Follow says that the page has live sections. Without a merchant there is no stream.
	Follow bool
}

// navGroup is a part of the menu; the first has no name.
type navGroup struct {
	Name    string
	Entries []navEntry
}

// navEntry is a link of the menu.
type navEntry struct{ Path, Name string }

func (v *visit) show(w http.ResponseWriter, status int, p *page) error {
	d := v.data(p)
	d.Follow = len(p.Live) > 0 && p.Shown == nil && status == http.StatusOK && v.merchant != nil
	if v.merchant != nil {
		d.Token = v.token()
	}
	if d.Follow {
		_, version, err := v.live(p)
		if err != nil {
			return err
		}
		d.Version = version
	}
	html, err := render("page", d)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = w.Write(html) // an error means that the client has gone
	return nil
}

func (v *visit) data(p *page) templateData {
	d := templateData{page: p, Root: v.root, Base: v.base, Here: v.here()}
	if v.merchant != nil {
		d.Merchant, d.Nav = v.merchant.Name, navigation
	}
	return d
}

// live renders the live sections, without a token, and returns their version.
func (v *visit) live(p *page) (html []byte, version string, err error) {
	html, err = render("live", v.data(p))
	sum := sha256.Sum256(html)
	return html, hex.EncodeToString(sum[:8]), err
}

func render(name string, d templateData) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, d); err != nil {
		return nil, fmt.Errorf("inspector: render %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// here is the address of the page itself, without its query.
func (v *visit) here() string {
	return v.root + strings.TrimPrefix(v.URL.EscapedPath(), "/")
}
