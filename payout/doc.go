// Package payout sends a merchant's money out: to mobile money, to a bank
// account, or to a wallet or float of the service.
//
// It describes payouts and their one-time codes, and what payouts share with disbursements: destinations,
// fees and the life of a [Transfer]. The host implements the [provider.Rail]. A worker calls the rail
// until it gives a final outcome.
//
// # The life of a transfer
//
// A transfer is a payout or a disbursement. One to a wallet or float is made and completed in one
// transaction. Any other is an external transfer, which goes through the rail. It reserves amount and
// fee in the transaction that creates it, and is pending. A worker then submits it to the rail under
// the transfer's id, and it is processing until the rail is conclusive. The transaction that enters the
// final status books or releases the reserve, once. If a rail does not answer, the outcome is unknown.
// The transfer then stays processing, and the worker asks the rail again, with the same id, until it
// answers.
package payout
