// Package inspector is a website on which an integrator sees what happened in
// test mode, and acts: balances and entries, QR codes, payments, refunds, payouts,
// disbursements and batches of them, invoices, customers, messages, events with their
// deliveries, webhook endpoints, consumers, the test clock.
//
//	inspect := inspector.New(svc, inspector.Config{})
//	defer inspect.Close()
//	mux.Handle("/inspector/", http.StripPrefix("/inspector", inspect))
//
// It is there only where the host mounts it, and only over a service whose
// configuration says Sandbox. It reads and acts through the services, always in
// test mode: nothing of live mode is seen or changed here. It asks for no key, so
// a host that is reached from outside puts its own authentication in front, and
// says with [Config.Allow] who sees which merchant.
//
// The pages are plain HTML. Without scripts everything works but the live updates.
package inspector

import (
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
)

// Config is how the inspector behaves. The zero value works.
type Config struct {
	// Allow says whether a request may see a merchant's test mode; nil allows all
	// merchants to everybody who reaches the inspector.
	Allow func(r *http.Request, merchant string) bool
	// Hosts are further names under which browsers reach the inspector, without
	// ports. The host of the service's BaseURL, localhost and addresses in digits
	// are known; any other name is refused, so that no website can make its own
	// name point here and read along.
	Hosts []string
	// Key authenticates forms, at least 32 bytes. Several processes behind one
	// address share it; nil stands for a random one, which is right for one process.
	Key []byte
	// Logger receives one line for each fault; nil stands for slog.Default(). No line
	// holds a secret, a phone number or what was entered.
	Logger *slog.Logger
}

// Inspector is the handler. It is safe for concurrent use.
type Inspector struct {
	svc    *payments.Service
	config Config
	log    *slog.Logger
	hosts  map[string]bool
	cross  *http.CrossOriginProtection

	streams places

	// look is how often an open page looks for changes.
	look time.Duration
	// closing ends the live updates, which http.Server.Shutdown would wait for.
	closing chan struct{}
	close   func()
}

// New returns the inspector of a service. Over a service that is no sandbox it
// answers every request with 404.
func New(svc *payments.Service, c Config) *Inspector {
	in := &Inspector{
		svc: svc, config: c, log: c.Logger, cross: http.NewCrossOriginProtection(),
		hosts: map[string]bool{"localhost": true}, look: time.Second, closing: make(chan struct{}),
	}
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

// Close ends the live updates of pages that are open. A server that is shut down
// would wait for them, so it is registered there:
//
//	server.RegisterOnShutdown(inspect.Close)
//
// Closing twice is fine; pages are answered on.
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
		ctx, cancel := context.WithTimeout(r.Context(), pageTime)
		defer cancel()
		r = r.WithContext(ctx)
	}
	v := &visit{Request: r, in: in, svc: in.svc, root: rootOf(r.URL.Path), asked: r.URL.Query()}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			in.fail(w, v, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := in.serve(w, v); err != nil {
		in.fail(w, v, err)
	}
}

// pageTime is how long a page may take.
var pageTime = 30 * time.Second

// misdirected is the refusal of a name that is not ours.
var errMisdirected = errors.New("inspector: the request names another host")

func (in *Inspector) serve(w http.ResponseWriter, v *visit) error {
	if !in.knows(v.Host) {
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
	if err := v.enter(parts[0]); err != nil {
		return err
	}
	kind := parts[1]
	if len(parts) > 2 {
		v.id = parts[2]
		kind = strings.Join(append([]string{parts[1], "*"}, parts[3:]...), "/")
	}
	if file, ok := files[kind]; ok {
		return v.serveFile(w, file)
	}
	build, ok := pages[kind]
	if !ok {
		return errNoPage
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
		p.Notice = notices[v.asked.Get("done")]
		return v.show(w, http.StatusOK, p)
	case http.MethodPost:
		return v.act(w, build)
	}
	w.Header().Set("Allow", "GET, HEAD, POST")
	return api.Errorf(api.MethodNotAllowed, "", "This page is read with GET and changed with POST.")
}

// knows reports whether a request names us as its host.
func (in *Inspector) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	// Nobody can make digits point elsewhere.
	return in.hosts[name] || net.ParseIP(name) != nil
}

// serveMerchants leads to the only merchant that may be seen, or lets one choose.
func (in *Inspector) serveMerchants(w http.ResponseWriter, v *visit) error {
	list, err := v.svc.Accounts.Merchants(v.Context(), v.page())
	if err != nil {
		return err
	}
	var rows []row
	for i := range list.Data {
		m := &list.Data[i]
		if in.allows(v.Request, m.ID) {
			rows = append(rows, row{Href: m.ID + "/", Title: m.Name, Detail: m.ID, At: m.CreatedAt})
		}
	}
	if len(rows) == 1 && !list.HasMore && v.asked.Get("after") == "" {
		seeOther(w, rows[0].Href)
		return nil
	}
	p := &page{Title: "Merchants", Still: []section{{Rows: rows, Empty: "There is no merchant yet."}}}
	if list.HasMore {
		p.Older = "?after=" + url.QueryEscape(list.Data[len(list.Data)-1].ID)
	}
	return v.show(w, http.StatusOK, p)
}

func (in *Inspector) allows(r *http.Request, merchant string) bool {
	return in.config.Allow == nil || in.config.Allow(r, merchant)
}

// errNoPage answers a path that leads nowhere, and a merchant who may not be seen.
var errNoPage = api.Errorf(api.NotFound, "", "There is nothing at this address.")

// fail shows what went wrong. A fault of ours is logged and not shown.
func (in *Inspector) fail(w http.ResponseWriter, v *visit, err error) {
	ended := v.Context().Err()
	if errors.Is(ended, context.Canceled) {
		return // nobody reads it
	}
	status, problem := http.StatusInternalServerError, "Something went wrong in the inspector. The log says what."
	var e *api.Error
	switch {
	case ended != nil:
		status, problem = http.StatusServiceUnavailable, "The page took too long. Load it again."
	case errors.Is(err, errMisdirected):
		status, problem = http.StatusMisdirectedRequest, "The inspector does not know this host name. Open it under the service's base address, or name the host in inspector.Config.Hosts."
	case errors.Is(err, errForged):
		status, problem = http.StatusForbidden, "This form did not come from a page of the inspector, or from one before its last start. Open the page again and repeat it."
	case errors.As(err, &e):
		status, problem = statusOf(e), e.Message
		if e.Code == api.ResourceMissing && status == http.StatusNotFound {
			// The services speak of keys, which nobody has here.
			problem = "There is nothing with this ID in the merchant's test mode. It may have been deleted."
		}
	default:
		in.log.ErrorContext(v.Context(), "the inspector failed", "method", v.Method, "page", v.kind(), "error", err)
	}
	p := &page{Title: http.StatusText(status), Problem: problem}
	if err := v.show(w, status, p); err != nil {
		in.log.ErrorContext(v.Context(), "the inspector cannot show a failure", "error", err)
	}
}

// statusOf is coarse: a person reads the page, not a program.
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

// seeOther leads to another page. A relative address holds under any prefix.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// visit is one request, and what a page is built from. It is for one goroutine.
type visit struct {
	*http.Request
	in  *Inspector
	svc *payments.Service
	// caller stands for the merchant in test mode. Nothing in this package makes
	// another one.
	caller   api.Caller
	merchant *account.Merchant
	// root leads from the page to the inspector, base to the merchant's pages.
	root, base string
	// id is the object's, in the path.
	id    string
	asked url.Values
}

// enter finds the merchant of the path.
func (v *visit) enter(id string) error {
	if !v.in.allows(v.Request, id) {
		return errNoPage
	}
	m, err := v.svc.Accounts.Merchant(v.Context(), id)
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

// to is the address of a page of the merchant's.
func (v *visit) to(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return v.base + strings.Join(parts, "/")
}

// kind names the page without ids, for the log.
func (v *visit) kind() string {
	parts := strings.SplitN(v.URL.Path, "/", 4)
	if len(parts) > 2 {
		if _, ok := pages[parts[2]]; ok {
			return parts[2]
		}
	}
	return ""
}

// rootOf leads from a path back to where the inspector is mounted.
func rootOf(at string) string {
	if n := strings.Count(at, "/") - 1; n > 0 {
		return strings.Repeat("../", n)
	}
	return "./"
}

const perPage = 25

// page is which page of a list the visitor asked for.
func (v *visit) page() api.Page {
	return api.Page{Limit: perPage, StartingAfter: v.asked.Get("after")}
}
