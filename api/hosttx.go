package api

import "errors"

// These errors refuse a call inside the host's own transaction. Check for them with errors.Is. No
// HTTP answer has them.
var (
	// ErrSecretInTx refuses a call that checks a PIN or a one-time code. The host's rollback would
	// undo the count of tries, and so allow unlimited guesses.
	ErrSecretInTx = errors.New("check the PIN or one-time code before the host's transaction, not inside it")
	// ErrNetworkInTx refuses a call that contacts a provider or a webhook endpoint. All writers
	// would wait for the answer, and a rollback could not undo the effect outside.
	ErrNetworkInTx = errors.New("this call uses the network; call it on the service itself, before or after the host's transaction")
)
