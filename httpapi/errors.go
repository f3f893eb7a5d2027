package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// errorBody is the JSON of every error.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Type      api.ErrorType `json:"type"`
	Code      api.Code      `json:"code"`
	Message   string        `json:"message"`
	Param     string        `json:"param,omitempty"`
	RequestID string        `json:"request_id"`
}

// The statuses of errors: by code, and otherwise by type.
var (
	statusOfType = map[api.ErrorType]int{
		api.InvalidRequest: http.StatusBadRequest,
		api.Authentication: http.StatusUnauthorized,
		api.Payment:        http.StatusPaymentRequired,
		api.Permission:     http.StatusForbidden,
		api.Idempotency:    http.StatusUnprocessableEntity,
		api.RateLimit:      http.StatusTooManyRequests,
		api.Fault:          http.StatusInternalServerError,
	}
	statusOfCode = map[api.Code]int{
		api.NotFound:             http.StatusNotFound,
		api.MethodNotAllowed:     http.StatusMethodNotAllowed,
		api.BodyTooLarge:         http.StatusRequestEntityTooLarge,
		api.UnsupportedMediaType: http.StatusUnsupportedMediaType,

		// The object is in the wrong state.
		api.InvoiceNotDraft:            http.StatusConflict,
		api.InvoiceNotOpen:             http.StatusConflict,
		api.InvoiceAlreadyPaid:         http.StatusConflict,
		api.InvoiceNoLines:             http.StatusConflict,
		api.InvoiceNotVoidable:         http.StatusConflict,
		api.SubscriptionPaused:         http.StatusConflict,
		api.SubscriptionNotPaused:      http.StatusConflict,
		api.SubscriptionCancelled:      http.StatusConflict,
		api.InvoicePaymentInProgress:   http.StatusConflict,
		api.CheckoutNotOpen:            http.StatusConflict,
		api.PayoutNotCancellable:       http.StatusConflict,
		api.DisbursementNotCancellable: http.StatusConflict,
		api.TransferSettled:            http.StatusConflict,
		api.PaymentInProgress:          http.StatusConflict,
		api.PaymentNotCancellable:      http.StatusConflict,
		api.PaymentNotConfirmable:      http.StatusConflict,
		api.PaymentNotReleasable:       http.StatusConflict,
		api.PaymentNotSettleable:       http.StatusConflict,
		api.PaymentNotRefundable:       http.StatusConflict,
		api.PaymentRefunded:            http.StatusConflict,

		api.IdempotencyKeyInUse: http.StatusConflict,
		api.Unavailable:         http.StatusServiceUnavailable,
	}
)

// statusOf returns the status of a refusal.
func statusOf(e *api.Error) int {
	// The object in the path has no parameter; a cursor or a field has one.
	if e.Code == api.ResourceMissing && e.Param == "" {
		return http.StatusNotFound
	}
	if status, ok := statusOfCode[e.Code]; ok {
		return status
	}
	if status, ok := statusOfType[e.Type]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// The answers to internal errors. Their texts are fixed; the log has the cause.
var (
	errInternal = api.Errorf(api.InternalError, "", "Something went wrong on our side. Try again with the same idempotency key, and report the request id if it happens again.")
	errTimeout  = api.Errorf(api.Unavailable, "", "The request took too long. Try again with the same idempotency key.")
	errStopping = api.Errorf(api.Unavailable, "", "The service is not available at the moment. Try again with the same idempotency key.")
	// errDatabase also answers a commit whose outcome is unknown.
	errDatabase = api.Errorf(api.Unavailable, "", "The database cannot be reached at the moment. Repeat the request with the same idempotency key: it is carried out once, whether or not this one was.")
)

// toAPIError returns the error that the client gets, and logs internal errors.
func (rt *router) toAPIError(r *request, err error) *api.Error {
	ended := r.Context().Err()
	var refusal *api.Error
	var panicked *panicError
	shown, level := errInternal, slog.LevelError
	switch {
	case errors.As(err, &panicked):
		return errInternal // renderRecovered has logged it
	case errors.As(err, &refusal) && statusOfType[refusal.Type] != 0:
		if statusOf(refusal) < http.StatusInternalServerError {
			return refusal
		}
		shown = refusal
		if refusal.Code == api.Unavailable {
			level = slog.LevelWarn
		}
	case errors.Is(err, storage.ErrClosed):
		shown, level = errStopping, slog.LevelWarn
	case errors.Is(err, storage.ErrUnavailable):
		shown, level = errDatabase, slog.LevelWarn
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(ended, context.DeadlineExceeded):
		shown, level = errTimeout, slog.LevelWarn
	case ended != nil:
		// The client has gone and reads no answer, or the host ended the request.
		shown, level = errStopping, slog.LevelDebug
		r.abandoned = true
	}
	rt.log.LogAttrs(r.Context(), level, "request failed",
		slog.String("request_id", r.caller.RequestID), slog.Any("error", err))
	return shown
}

// errorResponse returns the answer to an error: the route's page, or JSON.
func (rt *router) errorResponse(r *request, err error) *response {
	refusal := rt.toAPIError(r, err)
	r.code = refusal.Code
	return rt.errorAnswer(r, statusOf(refusal), refusal)
}

// errorAnswer returns an error as the route's page, or as JSON.
func (rt *router) errorAnswer(r *request, status int, refusal *api.Error) *response {
	if page := rt.errorPage(r, status, refusal); page != nil {
		return withErrorHeaders(r, page, status, refusal)
	}
	return errorJSON(r, status, refusal)
}

func errorJSON(r *request, status int, refusal *api.Error) *response {
	// Strings alone, so that encoding cannot fail.
	answer, _ := encode(r, status, errorBody{errorDetail{
		Type: refusal.Type, Code: refusal.Code, Message: refusal.Message,
		Param: refusal.Param, RequestID: r.caller.RequestID,
	}})
	return withErrorHeaders(r, answer, status, refusal)
}

// withErrorHeaders sets the headers that tell the client how to go on.
func withErrorHeaders(r *request, answer *response, status int, refusal *api.Error) *response {
	switch status {
	case http.StatusUnauthorized:
		answer.setHeader("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		answer.setHeader("Allow", r.allow)
	}
	if wait := retryAfter(refusal, status); wait > 0 {
		answer.setHeader("Retry-After", strconv.FormatInt(wait, 10))
	}
	return answer
}

// errorPage returns an error as the route's page, or nil for a route that answers JSON. It looks for the
// route of a request that was refused before.
func (rt *router) errorPage(r *request, status int, refusal *api.Error) *response {
	row := r.route
	if row == nil && !pathNeedsAPIKey(r.URL.Path) {
		if e := rt.paths.find(r.URL.EscapedPath(), &r.values); e != nil {
			r.names, row = e.names, e.route(r.Method)
		}
	}
	if row == nil || row.errorPage == nil {
		return nil
	}
	page, err := rt.renderRecovered(r, func() (any, error) { return row.errorPage(r, status, refusal) })
	if err != nil {
		rt.log.ErrorContext(r.Context(), "refusal could not be rendered",
			"request_id", r.caller.RequestID, "error", err)
		return nil
	}
	page.status = status
	return page
}

// retryAfter returns the seconds after which the client may try again, rounded up, or 0
// when waiting does not help.
func retryAfter(e *api.Error, status int) int64 {
	if e.RetryAfter > 0 {
		return int64(math.Ceil(e.RetryAfter.Seconds()))
	}
	switch {
	case status == http.StatusTooManyRequests || e.Code == api.IdempotencyKeyInUse:
		return 1
	case status == http.StatusServiceUnavailable:
		return 2 // most failovers of a database are over after a few tries
	}
	return 0
}

// panicError is the error that renderRecovered makes of a panic.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("httpapi: panic: %v", e.value) }

// renderRecovered runs fn and renders its result. It turns a panic into an error, except
// http.ErrAbortHandler, by which a handler closes the connection.
func (rt *router) renderRecovered(r *request, fn func() (any, error)) (answer *response, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		answer, err = nil, &panicError{p}
		rt.log.ErrorContext(r.Context(), "panic in a handler",
			"request_id", r.caller.RequestID, "panic", work.PanicText(p), "stack", string(debug.Stack()))
	}()
	v, err := fn()
	if err != nil {
		return nil, err
	}
	return render(r, v)
}
