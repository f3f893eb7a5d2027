package payment

// ConfirmParams carry the code that a payer got by phone.
type ConfirmParams struct {
	Code string `json:"-" param:"code,required"` // at most 100 characters
}
