package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Try lets readers send requests from the page, with a key of test mode. Without scripts, a form goes
// to the page's own server, which asks the API and shows the answer. The key stays on the server.
//
// Everyone who can read the page can then act in that merchant's test mode, and see what is in it.
// Leave it out where strangers read the page and test mode holds anything of yours.
type Try struct {
	// API is what [httpapi.New] returns.
	API http.Handler
	// Key is a secret key of test mode, sk_test_….
	Key string
	// Hosts are further host names of the page, without ports. BaseURL's is known, and so are those of
	// this machine. Another name is refused, so that no other website can send the forms by giving
	// itself this server's address.
	Hosts []string
}

const (
	maxForm   = 64 << 10
	maxAnswer = 256 << 10
)

// tryField is a parameter in the form.
type tryField struct{ ID, Name, In, Hint, Value string }

// tryAnswer is what the API answered.
type tryAnswer struct{ Status, RequestID, Location, Ignored, Text string }

type tryPage struct {
	pageOf
	Operation *entry
	Problem   string
	Fields    []tryField
	Body      string
	Answer    *tryAnswer
}

func (d *docs) try(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("operation")
	entries := index()
	i := slices.IndexFunc(entries, func(e entry) bool { return e.ID == id && e.Try })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	o := &entries[i]
	p := &tryPage{pageOf: pageOf{Title: o.Title, Root: "../", Anchor: o.ID}, Operation: o, Body: o.Body}
	// Without a referrer, the form would come from nowhere.
	w.Header().Set("Referrer-Policy", "same-origin")
	status := http.StatusOK
	if r.Method == http.MethodPost {
		status, p.Problem = d.checkForm(w, r)
	}
	for _, param := range o.Params {
		f := tryField{ID: param.In + "-" + param.Name, Name: param.Name, In: param.In, Hint: param.Hint}
		f.Value = r.PostForm.Get(f.ID)
		p.Fields = append(p.Fields, f)
	}
	if r.Method == http.MethodPost && p.Problem == "" {
		if o.Body != "" {
			p.Body = r.PostForm.Get("body")
		}
		if p.Answer, p.Problem = d.send(r, p); p.Problem != "" {
			status = http.StatusBadRequest
		}
	}
	d.render(w, status, "try", p)
}

// checkForm reads a form, and refuses one that another website sent.
func (d *docs) checkForm(w http.ResponseWriter, r *http.Request) (status int, problem string) {
	if !d.isKnownHost(r.Host) {
		return http.StatusMisdirectedRequest, "The reference does not know this host name. Open it under the service's base address."
	}
	if err := d.cross.Check(r); err != nil {
		return http.StatusForbidden, "This form was sent from another website. Send it again from here."
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return http.StatusBadRequest, fmt.Sprintf("The form could not be read. It may have %d bytes.", maxForm)
	}
	return http.StatusOK, ""
}

func (d *docs) isKnownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() || host == "localhost" {
		return true
	}
	return d.hosts[host]
}

// send asks the API.
func (d *docs) send(r *http.Request, p *tryPage) (answer *tryAnswer, problem string) {
	path, query := p.Operation.Path, url.Values{}
	for _, f := range p.Fields {
		switch value := strings.TrimSpace(f.Value); {
		case f.In == "query" && value != "":
			query.Set(f.Name, value)
		case f.In == "path" && (value == "" || value == "." || value == ".."):
			return nil, "Enter " + f.Name + ". A list or a create answers one."
		case f.In == "path":
			path = strings.ReplaceAll(path, "{"+f.Name+"}", url.PathEscape(value))
		}
	}
	request, err := http.NewRequestWithContext(r.Context(), p.Operation.Method, path+"?"+query.Encode(), strings.NewReader(p.Body))
	if err != nil {
		return nil, "This makes no address. Check the fields."
	}
	if p.Body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+d.config.Try.Key)
	request.RemoteAddr, request.Host = r.RemoteAddr, r.Host
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	d.config.Try.API.ServeHTTP(w, request)
	return &tryAnswer{
		Status:    fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		RequestID: w.header.Get("Request-Id"), Location: w.header.Get("Location"), Ignored: w.header.Get("Ignored-Parameters"), Text: w.readable(),
	}, ""
}

// recorder keeps what the API answers.
type recorder struct {
	header http.Header
	status int
	begun  bool
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.begun {
		w.status, w.begun = status, true
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.begun = true
	return w.body.Write(p)
}

func (w *recorder) readable() string {
	data, kind := w.body.Bytes(), w.header.Get("Content-Type")
	var b bytes.Buffer
	switch {
	case len(data) == 0:
		return "No content."
	case json.Indent(&b, data, "", "  ") == nil:
		data = b.Bytes()
	case !strings.HasPrefix(kind, "text/"):
		return fmt.Sprintf("%s, %d bytes.", kind, len(data))
	}
	if len(data) > maxAnswer {
		return strings.ToValidUTF8(string(data[:maxAnswer]), "") + "\n…"
	}
	return string(data)
}
