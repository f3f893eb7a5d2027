package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
)

var (
	// payerStyle has the parts of payers' pages.
	//go:embed pages/payer.css
	payerStyle string
	//go:embed pages/*.html
	pageTemplates embed.FS

	// pageStyle is the one style sheet of a payer's page.
	pageStyle = look.Shared + payerStyle

	pages = template.Must(template.New("pages").Funcs(template.FuncMap{
		"figures": look.Figures,
		"day":     func(t time.Time) string { return t.Format(look.LongDay) },
		"style":   func() template.CSS { return template.CSS(pageStyle) },
	}).ParseFS(pageTemplates, "pages/*.html"))

	// pageStyleHash is what a policy names the style sheet by.
	pageStyleHash = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return base64.StdEncoding.EncodeToString(sum[:])
	}()
)

// pagePolicy allows a page its one style sheet, pictures of its own origin and a form to formAction, and
// nothing else: no script, no frame around it.
func pagePolicy(formAction string) string {
	return "default-src 'none'; style-src 'sha256-" + pageStyleHash + "'; img-src 'self'; form-action " + formAction +
		"; frame-ancestors 'none'; base-uri 'none'"
}

const (
	// maxForm is the longest form that is read, in bytes.
	maxForm = 16 << 10
	// formTimeout is how long a form may take to arrive. A browser sends it in a packet or two.
	formTimeout = 5 * time.Second
)

// renderPage renders a template with the headers that every hosted page has.
func renderPage(status int, name string, v any) (*response, error) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		return nil, fmt.Errorf("httpapi: render page: %w", err)
	}
	answer := newResponse("text/html; charset=utf-8", b.Bytes())
	answer.status = status
	answer.setHeader("Content-Security-Policy", pagePolicy("'self'"))
	answer.setHeader("X-Frame-Options", "DENY")
	answer.setHeader("Referrer-Policy", "no-referrer")
	return answer, nil
}

// seeOther sends a browser that has posted a form to another page. location is relative to the
// address of the form.
func seeOther(location string) *response {
	return &response{status: http.StatusSeeOther, header: map[string]string{"Location": location}}
}

// form reads a form that a browser posts.
func (r *request) form() (url.Values, error) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a foreign page posts with its visitors' browsers
		return nil, api.Errorf(api.PermissionDenied, "", "This form was sent from another website. Open the page itself, and try again.")
	}
	r.Body = http.MaxBytesReader(r.writer, r.Body, maxForm)
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	defer cancel()
	stop := interruptRead(ctx, r.writer)
	err := r.ParseForm()
	stop()
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return nil, api.Errorf(api.BodyTooLarge, "", "The form is longer than %d bytes.", maxForm)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(r.Context().Err(), context.DeadlineExceeded):
		// The server ends the request's context, too, when it was cut off.
		return nil, api.Invalid("", "The form took too long to arrive. Go back and try again.")
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, api.Invalid("", "The form could not be read. Go back and try again.")
	}
	return r.PostForm, nil
}

// pageRoutes are routes whose errors are pages, which errorPage renders.
func pageRoutes(errorPage func(r *request, status int, e *api.Error) (any, error), routes ...route) []route {
	for i := range routes {
		routes[i].errorPage = errorPage
	}
	return routes
}

// logoOf answers with the logo of the merchant of the page that open finds.
func logoOf[H any](accounts account.Service, open func(*request) (*H, error), merchant func(*H) string) handler {
	return func(r *request) (any, error) {
		h, err := open(r)
		if err != nil {
			return nil, err
		}
		logo, err := accounts.GetLogo(r.Context(), api.Caller{}, merchant(h))
		if err != nil {
			return nil, err
		}
		answer := newResponse(logo.Type, logo.Data)
		answer.setHeader("Cache-Control", "public, max-age=300")
		return answer, nil
	}
}

// problemPages returns the page of everything that a page itself cannot show. missing stands where there
// is nothing at the address.
func problemPages(missing string) func(r *request, status int, e *api.Error) (any, error) {
	return func(r *request, status int, e *api.Error) (any, error) {
		switch {
		case status == http.StatusNotFound:
			return problemPage(status, missing)
		case e == errOverloaded || e == errTooManyFromCaller:
			return problemPage(status, slowDown)
		case status < http.StatusInternalServerError:
			return problemPage(status, e.Message)
		case r.Method == http.MethodPost:
			return renderPage(status, "outcome", outcomeView{
				pageView: pageView{Title: "Payment"}, Icon: clockIcon, Heading: "It is not known yet whether this worked",
				Before: "Load this page again in a moment.", Text: "This sends the same form once more: you pay at most once.",
			})
		}
		// The messages of faults are for programs.
		return problemPage(status, "This page cannot be shown now. Load it again in a moment.")
	}
}

// slowDown is what a person reads who sends too many requests, or comes when others do.
const slowDown = "There are too many requests at the moment. Wait a little, and load this page again."

// problemPage is the page of an error that no form can show.
func problemPage(status int, problem string) (*response, error) {
	return renderPage(status, "outcome", outcomeView{
		pageView: pageView{Title: "Payment"}, Icon: crossIcon, Heading: "This did not work", Text: problem,
	})
}

// asAPIError returns the refusal in an error, or nil.
func asAPIError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
