package api

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is a refusal that the caller can act on. Any other error is a fault of the library, the store
// or a provider, except the errors of Service.InTx and of the context. Do not show its text to the
// API's users.
//
//	var e *api.Error
//	if errors.As(err, &e) && e.Code == api.InsufficientBalance { … }
type Error struct {
	Type ErrorType
	Code Code
	// Message says what is wrong and how to fix it. The caller may see it.
	Message string
	// Param names the parameter at fault as a dotted path
	// (destination.phone_number, line_items[2].quantity), or is empty.
	Param string
	// RetryAfter is how long to wait before another try makes sense; 0 when
	// waiting does not help.
	RetryAfter time.Duration

	cause error
}

func (e *Error) Error() string {
	if e.Param != "" {
		return fmt.Sprintf("%s: %s (%s)", e.Code, e.Message, e.Param)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause, or nil. Log it, but do not show it to the API's users.
func (e *Error) Unwrap() error { return e.cause }

// WithCause returns a copy that wraps the error which led to it.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// After returns a copy that tells the caller how long to wait; see RetryAfter.
func (e *Error) After(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// Under returns a copy whose Param and Message have param as a prefix: phone_number becomes
// destination.phone_number. An error without Param gets param itself.
func (e *Error) Under(param string) *Error {
	c := *e
	if c.Param = param; e.Param != "" {
		c.Param = param + "." + e.Param
		c.Message = strings.Replace(e.Message, e.Param, c.Param, 1)
	}
	return &c
}

// CodeOf returns the code of the Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// IsRefusal reports whether an Error is in err's chain.
func IsRefusal(err error) bool { return CodeOf(err) != "" }

// Errorf returns a refusal with the type that belongs to the code. param is
// the parameter at fault, or empty.
func Errorf(code Code, param, format string, args ...any) *Error {
	return &Error{Type: code.Type(), Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Invalid refuses a parameter's value.
func Invalid(param, format string, args ...any) *Error {
	return Errorf(ParameterInvalid, param, format, args...)
}

// Missing refuses a call without a required parameter.
func Missing(param string) *Error {
	return Errorf(ParameterMissing, param, "The parameter %s is required.", param)
}

// NoSuch says that the object the call names does not exist for this caller.
// The text is the same for every id, so that it tells nothing about objects of
// others.
func NoSuch(object string) *Error {
	return Errorf(ResourceMissing, "", "There is no such %s in this account and mode. Check the id, and whether the key is of the mode in which the object was created.", object)
}

// NoSuchCursor is NoSuch for a paging cursor that names no object.
func NoSuchCursor(param, object string) *Error {
	return Errorf(ResourceMissing, param, "The parameter %s names no %s of this account and mode. Use the id of an object from the page before, or leave it out to begin anew.", param, object)
}
