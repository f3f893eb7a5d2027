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
	"github.com/seed-7082ffec/payments/storage"
)

// errorBody is what every failure is answered with.
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

// The table of statuses. A type has one status, and some codes have one of
// their own, which goes before their type's.
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
		api.InvoicePaymentInProgress:   http.StatusConflict,
		api.PayoutNotCancellable:       http.StatusConflict,
		api.DisbursementNotCancellable: http.StatusConflict,
		api.TransferSettled:            http.StatusConflict,
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

// The answers to failures that are no refusal. Their texts are fixed: what went
// wrong inside is for the log.
var (
	errInternal = api.Errorf(api.InternalError, "", "Something went wrong on our side. Try again with the same idempotency key, and report the request id if it happens again.")
	errTimeout  = api.Errorf(api.Unavailable, "", "The request took too long. Try again with the same idempotency key.")
	errStopping = api.Errorf(api.Unavailable, "", "The service is not available at the moment. Try again with the same idempotency key.")
	// errDatabase is also for a commit whose answer was lost, and which may have happened.
	errDatabase = api.Errorf(api.Unavailable, "", "The database cannot be reached at the moment. Repeat the request with the same idempotency key: it is carried out once, whether or not this one was.")
)

// explain turns an error into the refusal that is shown, and logs what is not.
func (rt *router) explain(r *request, err error) *api.Error {
	ended := r.Context().Err()
	var refusal *api.Error
	var panicked *panicError
	shown, level := errInternal, slog.LevelError
	switch {
	case errors.As(err, &panicked):
		return errInternal // it is in the log already, with its stack
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
		// The client has gone, so that nobody reads this, or the host ended the
		// request, and then it is right.
		shown, level = errStopping, slog.LevelDebug
		r.abandoned = true
	}
	rt.log.LogAttrs(r.Context(), level, "request failed",
		slog.String("request_id", r.caller.RequestID), slog.Any("error", err))
	return shown
}

// refuse renders an error.
func (rt *router) refuse(r *request, err error) *raw {
	refusal := rt.explain(r, err)
	r.code = refusal.Code
	status := statusOf(refusal)
	if page := rt.refusalPage(r, status, refusal); page != nil {
		return withAdvice(r, page, status, refusal)
	}
	return refusalBody(r, status, refusal)
}

// refusalBody renders a refusal as JSON.
func refusalBody(r *request, status int, refusal *api.Error) *raw {
	// Strings alone, so that encoding cannot fail.
	answer, _ := encode(r, status, errorBody{errorDetail{
		Type: refusal.Type, Code: refusal.Code, Message: refusal.Message,
		Param: refusal.Param, RequestID: r.caller.RequestID,
	}})
	return withAdvice(r, answer, status, refusal)
}

// withAdvice sets the headers that say what to do about a refusal.
func withAdvice(r *request, answer *raw, status int, refusal *api.Error) *raw {
	switch status {
	case http.StatusUnauthorized:
		answer.set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		answer.set("Allow", r.allow)
	}
	if wait := retryAfter(refusal, status); wait > 0 {
		answer.set("Retry-After", strconv.FormatInt(wait, 10))
	}
	return answer
}

// refusalPage renders a refusal as the route wants it, or returns nil where it
// is to be JSON.
func (rt *router) refusalPage(r *request, status int, refusal *api.Error) *raw {
	if r.route == nil || r.route.refusal == nil {
		return nil
	}
	page, err := rt.protect(r, func() (any, error) { return r.route.refusal(r, status, refusal) })
	if err != nil {
		rt.log.ErrorContext(r.Context(), "refusal could not be rendered",
			"request_id", r.caller.RequestID, "error", err)
		return nil
	}
	page.status = status
	return page
}

// retryAfter returns the seconds after which another try makes sense, rounded
// up, or 0 when waiting does not help.
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

// panicError is what a panic in a handler becomes.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("httpapi: panic: %v", e.value) }

// protect runs fn and renders what it returns. A panic becomes an error; only
// http.ErrAbortHandler, with which a handler asks for the connection to be cut,
// goes on.
func (rt *router) protect(r *request, fn func() (any, error)) (answer *raw, err error) {
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
			"request_id", r.caller.RequestID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}()
	v, err := fn()
	if err != nil {
		return nil, err
	}
	return render(r, v)
}
