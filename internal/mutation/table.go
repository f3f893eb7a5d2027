package main

import "slices"

// guards are all rows. Tests of the package that holds the guard come first, then those
// of the whole service; and of these the ones that take seconds.
var guards = slices.Concat(ledgerGuards, storeGuards, pinGuards, codeGuards, transferGuards, refundGuards, batchGuards,
	sealGuards, erasureGuards, hostGuards, keyGuards, webhookGuards, chargeGuards, moneyInGuards, couponGuards, issuedGuards, subscriptionGuards, checkoutGuards, adapterGuards)
