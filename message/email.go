package message

import "context"

// Mailer sends one e-mail. It must be safe for concurrent use. ctx ends after 15 seconds. After an
// error, or when the outcome was lost, the library calls SendEmail again with the same message.
// After nine failed attempts, about a day, the library gives up; after an [ErrUndeliverable] it does
// so at once. Package provider/smtp has a Mailer.
type Mailer interface {
	SendEmail(ctx context.Context, e Email) error
}

// Email is one e-mail. The Mailer chooses the address of the sender. FromName is the merchant
// on whose behalf it is sent.
type Email struct {
	// ID is that of the message; it is the same whenever the library sends it again.
	ID       string
	To       string
	FromName string
	Subject  string
	// Text and HTML have the same content. HTML loads nothing from other servers.
	Text, HTML  string
	Attachments []Attachment
}

// Attachment is a file attached to an e-mail.
type Attachment struct {
	Name, Type string
	Data       []byte
}
