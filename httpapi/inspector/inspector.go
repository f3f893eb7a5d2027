// Package inspector serves a website that shows the objects of test mode, and acts on them. It shows
// balances and entries, QR codes, payments, refunds, payouts, disbursements and their batches. It shows
// invoices, checkout sessions, subscriptions, products, coupons, plans and customers. It also shows
// messages, events with their deliveries, webhook endpoints, consumers, top-ups and the test clock.
//
//	inspect := inspector.New(svc, inspector.Config{})
//	defer inspect.Close()
//	mux.Handle("/inspector/", http.StripPrefix("/inspector", inspect))
//
// The host mounts it over a service whose Config sets Sandbox. It reads and acts through
// the services, always in test mode: it neither shows nor changes anything of live mode. It
// asks for no key. A public host puts its own authentication in front and decides with
// [Config.Allow] which request may see which merchant.
//
// The pages are plain HTML. Only the live updates need JavaScript.
package inspector

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/webhook"
)

// Config configures the inspector. The zero value works.
type Config struct {
	// Allow reports whether a request may see a merchant's test mode. Nil allows every
	// request to see all merchants. An open page with live updates asks again every second.
	Allow func(r *http.Request, merchant string) bool
	// Hosts are further host names of the inspector, without ports. The inspector always accepts
	// the host of the service's BaseURL, localhost and IP addresses. It refuses other names, to
	// prevent DNS rebinding.
	Hosts []string
	// Key authenticates forms, with at least 32 bytes. Several processes behind one address
	// must share it. Nil stands for a random key, which suits one process.
	Key []byte
	// Logger receives one line for each internal error; nil stands for slog.Default(). No
	// line holds a secret, a phone number or form input.
	Logger *slog.Logger
}

// Inspector is an http.Handler. It is safe for concurrent use.
type Inspector struct {
	svc    *payments.Service
	config Config
	log    *slog.Logger
	hosts  map[string]bool
	cross  *http.CrossOriginProtection

	streams streamLimiter
	flow    flowCache

	// pollInterval is how often a stream looks for changes.
	pollInterval time.Duration
	// closing ends the live updates, which http.Server.Shutdown would wait for.
	closing chan struct{}
	close   func()
}

// New returns the inspector of a service. It answers every request with 404 unless
// payments.Config.Sandbox is set.
func New(svc *payments.Service, c Config) *Inspector {
	in := &Inspector{svc: svc, config: c, log: c.Logger, cross: http.NewCrossOriginProtection(), hosts: map[string]bool{"localhost": true}, pollInterval: time.Second, closing: make(chan struct{})}
	in.close = sync.OnceFunc(func() { close(in.closing) })
	if in.log == nil {
		in.log = slog.Default()
	}
	if len(in.config.Key) == 0 {
		in.config.Key = make([]byte, 32)
		_, _ = rand.Read(in.config.Key) // never fails
	}
	if base, err := url.Parse(svc.BaseURL()); err == nil {
		in.hosts[strings.ToLower(base.Hostname())] = true
	}
	for _, host := range c.Hosts {
		in.hosts[strings.ToLower(host)] = true
	}
	return in
}

// Close ends the streams of live updates, for which http.Server.Shutdown would wait:
//
//	server.RegisterOnShutdown(inspect.Close)
//
// The inspector still answers pages afterwards. Closing twice is fine.
func (in *Inspector) Close() { in.close() }

// pagePolicy allows a page what the inspector itself serves, and no inline code.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP answers one request.
func (in *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// Not no-referrer: with that a browser sends Origin: null, even to ourselves.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.Header.Get("Accept") != "text/event-stream" {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	v := &visit{Request: r, in: in, svc: in.svc, root: rootOf(r.URL.Path), query: r.URL.Query(), limit: perPage}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			in.fail(w, v, fmt.Errorf("panic: %s\n%s", work.PanicText(p), debug.Stack()))
		}
	}()
	if err := in.serve(w, v); err != nil {
		in.fail(w, v, err)
	}
}

// pageTimeout is how long a page may take.
var pageTimeout = 30 * time.Second

// errMisdirected refuses an unknown host name.
var errMisdirected = errors.New("inspector: the request names another host")

func (in *Inspector) serve(w http.ResponseWriter, v *visit) error {
	if !in.isKnownHost(v.Host) {
		return errMisdirected
	}
	if !in.svc.Sandbox() {
		return api.Errorf(api.NotFound, "", "There is no sandbox here. The inspector needs a service whose configuration says Sandbox.")
	}
	at := v.URL.Path
	if !strings.HasPrefix(at, "/") || path.Clean(at) != strings.TrimSuffix(at, "/") && at != "/" {
		return errNoPage
	}
	parts := strings.Split(at[1:], "/")
	switch {
	case at == "/":
		return in.serveMerchants(w, v)
	case parts[0] == "assets" && len(parts) == 2:
		return serveAsset(w, v.Request, parts[1])
	case len(parts) == 1: // the merchant's page ends with a slash
		// As they came, "\\host" and "https:host" would be other websites to a browser.
		seeOther(w, "./"+url.PathEscape(parts[0])+"/")
		return nil
	}
	if err := v.loadMerchant(parts[0]); err != nil {
		return err
	}
	kind := parts[1]
	if len(parts) > 2 {
		v.id = parts[2]
		kind = strings.Join(append([]string{parts[1], "*"}, parts[3:]...), "/")
	}
	file, read := files[kind], pages[kind]
	switch v.kind = kind; {
	case file != nil:
		return v.serveFile(w, file)
	case read == nil:
		v.kind = "" // which anyone can choose
		return errNoPage
	}
	build := func(v *visit) (*page, error) {
		if err := v.begin(); err != nil {
			return nil, err
		}
		p, err := read(v)
		if err == nil && v.Method != http.MethodPost {
			p.Notice = notices[v.query.Get("done")]
		}
		return p, err
	}
	switch v.Method {
	case http.MethodGet, http.MethodHead:
		if v.Header.Get("Accept") == "text/event-stream" {
			return v.stream(w, build)
		}
		p, err := build(v)
		if err != nil {
			return err
		}
		if p.Redirect != "" {
			seeOther(w, p.Redirect)
			return nil
		}
		if name := v.query.Get("form"); name != "" {
			if p.Shown = p.find(name); p.Shown == nil {
				p.Problem = errGone
			}
		}
		return v.show(w, http.StatusOK, p)
	case http.MethodPost:
		return v.post(w, build)
	}
	w.Header().Set("Allow", "GET, HEAD, POST")
	return api.Errorf(api.MethodNotAllowed, "", "This page is read with GET and changed with POST.")
}

// isKnownHost reports whether the inspector answers under a host name.
func (in *Inspector) isKnownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	name := strings.ToLower(strings.Trim(host, "[]"))
	// An IP address cannot be rebound.
	return in.hosts[name] || net.ParseIP(name) != nil
}

// serveMerchants redirects to the only merchant that the request may see, or lists them.
func (in *Inspector) serveMerchants(w http.ResponseWriter, v *visit) error {
	list, err := v.svc.Accounts.ListMerchants(v.Context(), api.Caller{}, v.page())
	if err != nil {
		return err
	}
	var rows []row
	for i := range list.Data {
		m := &list.Data[i]
		if in.allows(v.Request, m.ID) {
			rows = append(rows, row{Href: m.ID + "/", Title: m.Name, Below: m.ServiceID, At: m.CreatedAt, Time: value(m.CreatedAt)})
		}
	}
	if len(rows) == 1 && !list.HasMore && v.query.Get("after") == "" {
		seeOther(w, rows[0].Href)
		return nil
	}
	v.now = time.Now()
	p := &page{Title: "Merchants", Fixed: true, Live: []section{{
		Heads: [5]string{"Merchant", "", "", "", "Since"}, Rows: rows, Pager: pager(v, list),
		Empty: empty{Title: "No merchants yet", Text: "A merchant that the service makes stands here."},
	}}}
	return v.show(w, http.StatusOK, p)
}

func (in *Inspector) allows(r *http.Request, merchant string) bool {
	return in.config.Allow == nil || in.config.Allow(r, merchant)
}

// errNoPage answers an unknown path, and a merchant that the request may not see.
var errNoPage = api.Errorf(api.NotFound, "", "There is nothing at this address.")

// fail shows an error. It logs internal errors instead of showing them.
func (in *Inspector) fail(w http.ResponseWriter, v *visit, err error) {
	ended := v.Context().Err()
	if errors.Is(ended, context.Canceled) {
		return // the client has gone
	}
	status, problem := http.StatusInternalServerError, "Something went wrong in the inspector. The log says what."
	var e *api.Error
	switch {
	case ended != nil:
		status, problem = http.StatusServiceUnavailable, "The page took too long. Load it again."
	case errors.Is(err, errMisdirected):
		status, problem = http.StatusMisdirectedRequest, "The inspector does not know this host name. Open it under the service's base address, or name the host in inspector.Config.Hosts."
	case errors.Is(err, errInvalidForm):
		status, problem = http.StatusForbidden, "This form did not come from a page of the inspector, or from one before its last start. Open the page again and repeat it."
	case errors.As(err, &e):
		status, problem = statusOf(e), e.Message
		if e.Code == api.ResourceMissing && status == http.StatusNotFound {
			// The service's message speaks of API keys; the inspector has none.
			problem = "There is nothing with this ID in the merchant's test mode. It may have been deleted."
		}
	default:
		in.log.ErrorContext(v.Context(), "the inspector failed", "method", v.Method, "page", v.kind, "error", err)
	}
	p := &page{Title: http.StatusText(status), Problem: problem}
	if err := v.show(w, status, p); err != nil {
		in.log.ErrorContext(v.Context(), "the inspector cannot show a failure", "error", err)
	}
}

// statusOf returns the status of an error. It is coarse, because people read the page.
func statusOf(e *api.Error) int {
	switch {
	case e.Code == api.NotFound, e.Code == api.ResourceMissing && e.Param == "":
		return http.StatusNotFound
	case e.Code == api.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case e.Type == api.RateLimit:
		return http.StatusTooManyRequests
	case e.Type == api.Fault:
		return http.StatusServiceUnavailable
	}
	return http.StatusUnprocessableEntity
}

// seeOther redirects to another page. Relative addresses work under any prefix.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// visit is one request to a page. It is for one goroutine.
type visit struct {
	*http.Request
	in  *Inspector
	svc *payments.Service
	// caller is the merchant in test mode. The package makes no other caller.
	caller   api.Caller
	merchant *account.Merchant
	// root leads from the page to the inspector, base to the merchant's pages.
	root, base string
	// kind is the path of the page, with * for an id, and id is the object's.
	kind, id string
	// query and limit choose what a list holds.
	query url.Values
	limit int
	// now is the merchant's clock.
	now time.Time
	// err is the last fault of what was read for a part of the page.
	err error
	// contradictions are the orders that wait for a decision. They are read once for a page.
	contradictions func() []provider.OrderInfo
	// order is the order of the page's object, empty if it has none. It is read once for a page.
	order func() *provider.OrderInfo
	// switchedOff are the endpoints that the service has switched off. They are read once for a page.
	switchedOff func() map[string]*webhook.Endpoint
	// rows are the objects that were looked up already, by ids.
	rows map[string]row
}

// begin forgets what was read before, and reads the merchant's clock.
func (v *visit) begin() error {
	now, err := v.svc.Now(v.Context(), v.caller)
	if err != nil {
		return err
	}
	v.now, v.err, v.rows = now.Time, nil, map[string]row{}
	v.contradictions = sync.OnceValue(func() []provider.OrderInfo {
		return listOf(v, v.svc.Providers.List, provider.ListParams{Contradicted: true, Page: api.Page{Limit: api.MaxLimit}})
	})
	v.order = sync.OnceValue(func() *provider.OrderInfo { return get(v, v.svc.Providers.Get, v.id) })
	v.switchedOff = sync.OnceValue(v.readSwitchedOff)
	return nil
}

func (v *visit) loadMerchant(id string) error {
	if !v.in.allows(v.Request, id) {
		return errNoPage
	}
	m, err := v.svc.Accounts.GetMerchant(v.Context(), api.Caller{}, id)
	if api.CodeOf(err) == api.ResourceMissing {
		return errNoPage
	}
	if err != nil {
		return err
	}
	v.merchant, v.base = m, v.root+url.PathEscape(id)+"/"
	v.caller = api.Caller{Merchant: id, Live: false, RequestID: v.svc.NewID("req_")}
	return nil
}

// url returns the address of one of the merchant's pages.
func (v *visit) url(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return v.base + strings.Join(parts, "/")
}

// rootOf returns the relative address of the inspector's root.
func rootOf(at string) string {
	return cmp.Or(strings.Repeat("../", max(0, strings.Count(at, "/")-1)), "./")
}
