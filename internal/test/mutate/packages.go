package main

import "regexp"

// moneyPaths are the packages that decide about money, by their paths in the module.
// The command mutates them unless -packages names others.
var moneyPaths = []string{
	"account",
	"catalog",
	"checkout",
	"disbursement",
	"internal/billing/invoicing",
	"internal/billing/offering",
	"internal/billing/subscribing",
	"internal/collect",
	"internal/collect/scanning",
	"internal/engine",
	"internal/fee",
	"internal/ledger",
	"internal/money",
	"internal/orders",
	"internal/party",
	"internal/refunding",
	"internal/session",
	"internal/transfer",
	"invoice",
	"payment",
	"payout",
	"qrcode",
	"refund",
	"subscription",
}

// faces are the packages over which the tests of others stand: those of internal/refunding drive package refund.
var faces = map[string][]string{
	"internal/billing/invoicing":   {"invoice"},
	"internal/billing/offering":    {"catalog"},
	"internal/billing/subscribing": {"subscription"},
	"internal/collect":             {"payment"},
	"internal/collect/scanning":    {"qrcode"},
	"internal/party":               {"account"},
	"internal/refunding":           {"refund"},
	"internal/session":             {"checkout"},
	"internal/transfer":            {"payout", "disbursement"},
}

// aside are files that do not decide about money: JSON, pictures, documents, caches, searches.
var aside = regexp.MustCompile(`(json|cache|png|image|pdf|layout|search|export|doc|mail|creditnote|clock|batcher)\.go$`)

// asideFuncs are functions that only make text.
var asideFuncs = regexp.MustCompile(`^(String|Error|GoString|LogValue|MarshalJSON|UnmarshalJSON|MarshalText)$`)
