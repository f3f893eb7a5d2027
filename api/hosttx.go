package api

import "errors"

// These errors refuse a call inside a host's own transaction. A host recognises them
// with errors.Is; no answer over HTTP has them.
var (
	// ErrSecretInTx refuses a call that compares a PIN or a one-time code. The count of
	// tries would go with the host's rollback, and with it the limit of guesses.
	ErrSecretInTx = errors.New("a PIN or a code is compared before the host's transaction, not inside it")
	// ErrNetworkInTx refuses a call that asks a provider or an endpoint. Every writer
	// would wait for the answer, and a rollback would not undo what was done outside.
	ErrNetworkInTx = errors.New("it goes over the network, so call it on the service itself, before the host's transaction or after it")
)
