package httpapi

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
)

// pageView is what every page has.
type pageView struct {
	Title string
	// Test puts the strip of test mode on top.
	Test     bool
	Merchant *merchantView
}

// merchantView is the merchant on a page.
type merchantView struct {
	Name, Initials string
	// Logo is the address of the logo, relative to the page; "" for none.
	Logo string
	// About is the line under the name.
	About string
	// Phone is the number to call, and Dial the link that calls it; "" for none.
	Phone string
	Dial  template.URL
}

// newMerchantView shows a merchant. logo is the address of the logo, if there is one.
func newMerchantView(m *account.Merchant, logo string, about ...string) *merchantView {
	v := &merchantView{Name: m.Name, Initials: initials(m.Name), About: look.Join(" · ", about...)}
	if m.HasLogo {
		v.Logo = logo
	}
	if number, err := phone.Parse(m.Phone); err == nil {
		v.Phone, v.Dial = phone.Spaced(number), template.URL("tel:"+number) // of digits alone
	}
	return v
}

// outcomeView is a page that says how a payment ended, or why there is none.
type outcomeView struct {
	pageView
	Icon    icon
	Heading string
	// Amount stands under the heading; 0 for none.
	Amount int64
	// Before and After are the loud sentences around Text.
	Before, Text, After string
	Facts               []fact
	Actions             []action
	Note                string
	// Again leads to another payment, after the first went back.
	Again *action
	// Alert says that the page refuses what the payer has sent.
	Alert bool
	// Questions says whom to ask.
	Questions bool
}

// action is a link that looks like a button. Main is what most payers do next.
type action struct {
	Label, URL string
	Main       bool
}

// fact is a row of a list. One of Text, Money, ID and Time is set.
type fact struct {
	Name, Text string
	Money      int64
	ID         string
	Time       string
	// Datetime is Time for programs.
	Datetime string
	// Below is a second line.
	Below string
}

// icon is a picture of one line in a round of a colour.
type icon struct{ Class, Path string }

var (
	checkIcon = icon{"good", "m5 12.5 4.5 4.5L19 7.5"}
	crossIcon = icon{"bad", "M6.5 6.5l11 11m0-11l-11 11"}
	clockIcon = icon{"wait", "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 7.5V12l3 2"}
	stopIcon  = icon{"neutral", "M6 12h12"}
	backIcon  = icon{"neutral", "M9 14 4 9l5-5M4 9h10a5 5 0 0 1 0 10h-3"}
)

// networkName is how people name the network of a payment.
func networkName(code *string) string {
	if code == nil {
		return "your network"
	}
	return look.NetworkName(*code)
}

// paidWith is how a payment was made, and from which number.
func paidWith(name string, p *payment.Payment, number string) fact {
	f := fact{Name: name, Text: "Wallet", Below: number}
	switch {
	case p.PaymentMethod == payment.ServiceWallet:
	case p.Provider != nil:
		f.Text = networkName(p.Provider) + " mobile money"
	case p.Phone != nil:
		f.Text = "Mobile money"
	default:
		f.Text = p.PaymentMethod
	}
	return f
}

// timeFact is a row with the whole time. Accra's clock is UTC.
func timeFact(t time.Time) fact {
	t = t.UTC()
	return fact{Name: "Time", Time: t.Format("Mon 2 Jan 2006, 15:04"), Datetime: t.Format(time.RFC3339)}
}

// dueText says when an invoice is due, and whether that is over.
func dueText(due, now time.Time) (text string, overdue bool) {
	midnight := func(t time.Time) time.Time {
		t = t.UTC()
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	days := int(midnight(due).Sub(midnight(now)) / (24 * time.Hour))
	day := due.UTC().Format(look.LongDay)
	switch {
	case days > 1:
		return fmt.Sprintf("Due %s, in %d days", day, days), false
	case days == 1:
		return "Due tomorrow, " + day, false
	case days == 0:
		return "Due today, " + day, false
	case days == -1:
		return "Overdue: was due yesterday, " + day, true
	}
	return fmt.Sprintf("Overdue: was due %d days ago, %s", -days, day), true
}

// receiptView is the receipt of a completed payment. texted says that an SMS goes out, too.
func receiptView(m *merchantView, paid *payment.Payment, number, paidFor string, texted bool) outcomeView {
	v := outcomeView{
		pageView: pageView{Title: "Paid to " + m.Name, Test: !paid.Livemode, Merchant: m},
		Icon:     checkIcon, Heading: "Paid", Amount: paid.Amount, Note: "You can close this page.",
	}
	if texted {
		v.Note = textedNote + " " + v.Note
	}
	at := paid.CreatedAt.Time
	if paid.CompletedAt != nil {
		at = paid.CompletedAt.Time
	}
	v.Facts = []fact{paidWith("Paid with", paid, number), timeFact(at)}
	if paidFor != "" {
		v.Facts = append(v.Facts, fact{Name: "For", Text: paidFor})
	}
	if paid.Reference != "" && paid.Reference != paidFor {
		v.Facts = append(v.Facts, fact{Name: "Reference", Text: paid.Reference})
	}
	v.Facts = append(v.Facts, fact{Name: "Payment", ID: paid.ID})
	v.Text = givenBack(paid)
	return v
}

// givenBack says what a payer has got back of a payment; "" for nothing.
func givenBack(paid *payment.Payment) string {
	if paid.AmountRefunded == 0 {
		return ""
	}
	return look.Money(paid.AmountRefunded) + " of it was given back, or is on its way back."
}

// textedNote says that the payer has the receipt on the phone.
const textedNote = "A receipt was sent by SMS."

// payerNumber is the payer's number, masked as pages show it.
func payerNumber(h *payment.Hosted) string {
	return look.Phone(cmp.Or(h.Number, look.Text(h.Payment.Phone)))
}

// maskedPhone is a number that is masked already, as pages show it; "" for none.
func maskedPhone(masked *string) string {
	return look.Phone(look.Text(masked))
}

// initials are of the first two words of a name.
func initials(name string) string {
	var b strings.Builder
	for _, word := range strings.Fields(name) {
		r, _ := utf8.DecodeRuneInString(word)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		b.WriteRune(unicode.ToUpper(r))
		if utf8.RuneCountInString(b.String()) == 2 {
			break
		}
	}
	return b.String()
}
