package api

// ErrorType groups the codes by what the caller can do about them.
type ErrorType string

// The types of errors.
const (
	// InvalidRequest: a parameter is wrong, or the object does not exist or is in the wrong state.
	InvalidRequest ErrorType = "invalid_request_error"
	// Authentication: the key is missing or not valid.
	Authentication ErrorType = "authentication_error"
	// Permission: the key lacks the permission, or the PIN is wrong or locked.
	Permission ErrorType = "permission_error"
	// Payment: the request is well formed, but the money cannot move now.
	Payment ErrorType = "payment_error"
	// Idempotency: the key belongs to another request, or its first request is still running.
	Idempotency ErrorType = "idempotency_error"
	// RateLimit: too many tries; wait.
	RateLimit ErrorType = "rate_limit_error"
	// Fault: the library, the database or a provider failed; try again later.
	Fault ErrorType = "api_error"
)

// Code identifies a refusal. Switch on it in programs. A code never changes its meaning.
type Code string

// Codes of requests.
const (
	ParameterMissing     Code = "parameter_missing"
	ParameterInvalid     Code = "parameter_invalid"
	ResourceMissing      Code = "resource_missing"
	CurrencyNotSupported Code = "currency_not_supported"
	InvalidJSON          Code = "invalid_json"
	BodyTooLarge         Code = "body_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	MethodNotAllowed     Code = "method_not_allowed"
	NotFound             Code = "not_found"
	// EventTypeUnknown: no event has this type; see event.Types.
	EventTypeUnknown Code = "event_type_unknown"
	InternalError    Code = "internal_error"
	Unavailable      Code = "service_unavailable"
	RateLimited      Code = "rate_limited"
)

// Codes of authentication, permission and idempotency.
const (
	APIKeyMissing         Code = "api_key_missing"
	APIKeyInvalid         Code = "api_key_invalid"
	PermissionDenied      Code = "permission_denied"
	PINInvalid            Code = "pin_invalid"
	PINLocked             Code = "pin_locked"
	IdempotencyKeyInvalid Code = "idempotency_key_invalid"
	IdempotencyKeyReused  Code = "idempotency_key_reused"
	IdempotencyKeyInUse   Code = "idempotency_key_in_use"
)

// Codes of QR codes and wallet payments.
const (
	InvalidQR           Code = "invalid_qr"
	InvalidConsumerQR   Code = "invalid_consumer_qr"
	QRInactive          Code = "qr_inactive"
	QRExpired           Code = "qr_expired"
	QRLimitReached      Code = "qr_limit_reached"
	AccountNotFound     Code = "account_not_found"
	AmountRequired      Code = "amount_required"
	WalletNotActive     Code = "wallet_not_active"
	InsufficientBalance Code = "insufficient_balance"
	InvalidPhoneNumber  Code = "invalid_phone_number"
)

// Codes of payouts, disbursements and one-time codes.
const (
	InvalidDestination   Code = "invalid_destination"
	RecipientUnavailable Code = "recipient_unavailable"
	// ProviderBalanceInsufficient: the operator has too little money at the provider. It is no fault
	// of the recipient, and the same transfer may succeed later.
	ProviderBalanceInsufficient Code = "provider_balance_insufficient"
	// AccountNameMismatch: the account is registered in another name.
	AccountNameMismatch Code = "account_name_mismatch"
	DailyLimitExceeded  Code = "daily_limit_exceeded"
	AmountTooSmall      Code = "amount_too_small"
	AmountTooLarge      Code = "amount_too_large"
	InvalidServiceID    Code = "invalid_service_id"
	ServiceIDNotFound   Code = "service_id_not_found"
	// ServiceIDNotPayable: the service id is that of a merchant, who cannot be paid by it.
	ServiceIDNotPayable Code = "service_id_not_payable"
	// SubagentNotPayable: the recipient is a sub-agent; pay the main agent.
	SubagentNotPayable Code = "subagent_not_payable"

	OTPVerificationRequired Code = "otp_verification_required"
	OTPInvalid              Code = "otp_invalid"
	OTPExpired              Code = "otp_expired"
	OTPAttemptsExceeded     Code = "otp_attempts_exceeded"

	PayoutNotCancellable       Code = "payout_not_cancellable"
	DisbursementNotCancellable Code = "disbursement_not_cancellable"
	// TransferSettled: the payout, disbursement or refund that the test helper should settle has ended
	// with another outcome.
	TransferSettled Code = "transfer_settled"
)

// Codes of invoices.
const (
	InvoiceNotDraft    Code = "invoice_not_draft"
	InvoiceNotOpen     Code = "invoice_not_open"
	InvoiceAlreadyPaid Code = "invoice_already_paid"
	InvoiceNoLines     Code = "invoice_no_lines"
	InvoiceNoRecipient Code = "invoice_no_recipient"
	InvoiceNotVoidable Code = "invoice_not_voidable"
	// InvoicePaymentInProgress: a charge of the invoice, such as one by Pay, has no outcome yet.
	InvoicePaymentInProgress Code = "invoice_payment_in_progress"
	PaymentFailed            Code = "payment_failed"
)

// CheckoutNotOpen: the checkout session is complete or has expired.
const CheckoutNotOpen Code = "checkout_not_open"

// CouponNotRedeemable: the coupon is used up, past its time, not active, or deleted.
const CouponNotRedeemable Code = "coupon_not_redeemable"

// Codes of subscriptions.
const (
	SubscriptionPaused    Code = "subscription_paused"
	SubscriptionNotPaused Code = "subscription_not_paused"
	SubscriptionCancelled Code = "subscription_cancelled"
)

// Codes of payments from a phone.
const (
	// PaymentInProgress: a payment from a phone holds the invoice, the checkout session or the last use
	// of a QR code.
	PaymentInProgress     Code = "payment_in_progress"
	PaymentNotCancellable Code = "payment_not_cancellable"
	// PaymentNotReleasable: the payment has ended, or is from a wallet, and holds nothing.
	PaymentNotReleasable Code = "payment_not_releasable"
	// PaymentNotConfirmable: the provider asks for no code.
	PaymentNotConfirmable Code = "payment_not_confirmable"
	// PaymentNotSettleable: the payment that the test helper should settle has ended, or is from
	// a wallet.
	PaymentNotSettleable Code = "payment_not_settleable"
	// TooManyPrompts: the payer's phone was asked too often to approve a payment.
	TooManyPrompts Code = "too_many_prompts"
	// WalletLimitExceeded: the money would take a wallet above the limits of its tier.
	WalletLimitExceeded Code = "wallet_limit_exceeded"
)

// Codes of refunds.
const (
	// PaymentNotRefundable: the payment took no money through this service, so it cannot be
	// refunded.
	PaymentNotRefundable Code = "payment_not_refundable"
	// PaymentRefunded: refunds have returned all of the payment, or are about to.
	PaymentRefunded Code = "payment_already_refunded"
)

// WebhookURLInvalid: webhooks cannot be delivered to this URL.
const WebhookURLInvalid Code = "webhook_url_invalid"

// Type returns the type of the code. An unknown code has the type InvalidRequest.
func (c Code) Type() ErrorType {
	if t, ok := types[c]; ok {
		return t
	}
	return InvalidRequest
}

var types = map[Code]ErrorType{
	APIKeyMissing: Authentication,
	APIKeyInvalid: Authentication,

	PermissionDenied: Permission,
	PINInvalid:       Permission,
	PINLocked:        Permission,

	IdempotencyKeyReused: Idempotency,
	IdempotencyKeyInUse:  Idempotency,

	QRInactive:          Payment,
	QRExpired:           Payment,
	QRLimitReached:      Payment,
	WalletNotActive:     Payment,
	InsufficientBalance: Payment,

	RecipientUnavailable:        Payment,
	ProviderBalanceInsufficient: Payment,
	AccountNameMismatch:         Payment,
	DailyLimitExceeded:          Payment,
	ServiceIDNotPayable:         Payment,
	SubagentNotPayable:          Payment,
	OTPVerificationRequired:     Payment,
	PaymentFailed:               Payment,
	WalletLimitExceeded:         Payment,

	RateLimited:         RateLimit,
	TooManyPrompts:      RateLimit,
	OTPAttemptsExceeded: RateLimit,

	InternalError: Fault,
	Unavailable:   Fault,
}
