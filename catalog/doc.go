// Package catalog keeps a merchant's products, coupons and plans.
//
// An invoice or a subscription copies what it needs of them: a line copies a product, and an invoice copies
// what a coupon takes off. So a later change or deletion does not change what was copied.
package catalog
