// Package classed gives the errors of adapters their class. The text of an error stays as it is, for
// the operator who calls the adapter; the library reads the class alone.
package classed

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/provider"
)

// failed is an error with a class.
type failed struct {
	error
	is *provider.Error
}

func (f *failed) Unwrap() []error { return []error{f.error, f.is} }

// Of returns an error as one of that class. An error that has a class keeps it.
func Of(route string, class provider.Class, err error) error {
	return Amount(&provider.Error{Route: route, Class: class}, err)
}

// Amount is Of for a report of another amount than the order's.
func Amount(is *provider.Error, err error) error {
	var has *provider.Error
	if err == nil || errors.As(err, &has) {
		return err
	}
	return &failed{err, is}
}

// Call returns the error of [httpcall.Do] with its class.
func Call(route string, err error) error {
	class := provider.ClassUnreachable
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		class = provider.ClassTimeout
	case errors.Is(err, httpcall.ErrTooLong):
		class = provider.ClassUnreadable
	}
	return Of(route, class, err)
}

// Status returns an error that an HTTP status of the provider stands for, with its class. A success that
// is an error all the same has an answer of another form than documented.
func Status(route string, status int, err error) error {
	class := provider.ClassUnreadable
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		class = provider.ClassUnauthorized
	case status == http.StatusTooManyRequests:
		class = provider.ClassThrottled
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		class = provider.ClassTimeout
	case status >= http.StatusInternalServerError:
		class = provider.ClassUnreachable
	case status >= http.StatusBadRequest:
		class = provider.ClassRefused
	}
	return Of(route, class, err)
}
