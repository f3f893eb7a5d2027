package inspector

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/provider"
)

// orderNeed says that an order needs a person.
func (v *visit) orderNeed(o *provider.OrderInfo) need {
	money := value(cedis(o.Amount))
	if party := v.party(o.Object, o.Record); party != "" {
		money += " " + value(party)
	}
	n := need{
		Badge: badge{"wait", "Stuck"}, Title: "A " + lower(words(o.Object)) + " stays in processing", Act: "Settle", Href: v.source(o.Object, o.Record),
		Text: sentence("%s, without an outcome for %s. It waits for you.", money, look.Lasting(v.now.Sub(o.CreatedAt))),
	}
	if o.Contradiction != "" {
		n.Badge, n.Title, n.Act = badges["contradiction"], contradiction(o), "Decide"
		n.Text = sentence("%s, %s ago. Nothing moves until you decide.", money, look.Lasting(v.now.Sub(o.CreatedAt)))
	}
	return n
}

// contradiction says what contradicts what.
func contradiction(o *provider.OrderInfo) string {
	if o.Reported == "" {
		return capital(strings.ReplaceAll(o.Contradiction, "GHS ", "GH₵"+look.NoBreak))
	}
	return providerOf(o) + " says " + outcomeWords[o.Reported] + ", the ledger says " + outcomeWords[o.Outcome]
}

// outcomeWords are what a provider says of an order, as people say it.
var outcomeWords = map[provider.Outcome]string{provider.Paid: "paid", provider.Refused: "failed", provider.Reversed: "taken back", provider.NotFound: "not sent"}

// providerOf is the network of an order, if it has one.
func providerOf(o *provider.OrderInfo) string {
	return cmp.Or(look.NetworkName(o.Network), "The provider")
}

// missing is what the merchant's balance has too little by if the provider is right; 0 for an order that
// needs a person for another reason, and for a top-up, which is in no merchant's balance.
func missing(o *provider.OrderInfo) int64 {
	switch paid := o.Reported == provider.Paid; {
	case o.Reported == "", strings.HasPrefix(o.Object, "top_up"):
		return 0
	case paid == (o.Flow == provider.Charges): // what other flows pay leaves the balance
		return o.Amount
	}
	return -o.Amount
}

// contradicted is the order of an object if its provider contradicted it, and no person has decided;
// nil otherwise.
func (v *visit) contradicted(id string) *provider.OrderInfo {
	orders := v.contradictions()
	if at := slices.IndexFunc(orders, func(o provider.OrderInfo) bool { return o.Record == id }); at >= 0 {
		return &orders[at]
	}
	if id == v.id && len(orders) == api.MaxLimit { // its own page shows it, however many there are
		if o := v.order(); o.Contradiction != "" {
			return o
		}
	}
	return nil
}

// decide shows on the page of an object that its order needs a person, and what can be done.
func (v *visit) decide(p *page) {
	o := v.contradicted(v.id)
	if o == nil {
		v.decided(p)
		return
	}
	n := v.orderNeed(o)
	p.Problem = "<b>" + value(n.Title) + "</b>" + n.Text
	keep := &form{
		Name: "keep", Title: "Keep it as booked", Button: "Keep it as booked", Hint: n.Title + ".", Note: "Nothing is booked. The report leaves the list, and is not listed again.",
		do: func(v *visit, _ *input) (any, error) { return nil, v.svc.Providers.Resolve(v.Context(), o.ID) },
	}
	p.Forms, p.Deciding = append([]*form{keep}, p.Forms...), 1
	missing := missing(o)
	if missing == 0 {
		return
	}
	booked, says := outcomeWords[o.Outcome], outcomeWords[o.Reported]
	keep.Label, p.Deciding = "Keep it as "+booked, 2
	p.Forms = slices.Insert(p.Forms, 0, &form{
		Name: "book", Title: "Book it as " + says, Button: "Book " + plainMoney(cedis(missing)), Hint: n.Title + ".",
		Will: facts("Balance of "+v.merchant.Name, cedis(missing), "Fee", "None"),
		Note: "It becomes an adjustment of the balance. The " + lower(words(o.Object)) + " stays " + booked + ", and leaves the list.",
		do: func(v *visit, in *input) (any, error) {
			v.caller.IdempotencyKey = "inspector-book-" + o.ID + "-" + o.Contradiction // the same for two who decide at once
			if _, err := v.svc.Accounts.Adjust(v.Context(), v.caller, account.AdjustParams{
				Amount: api.FromPesewas(missing).Decimal, Reason: "The provider contradicted itself: " + o.Contradiction, Actor: "inspector", Reference: o.Record,
			}); err != nil {
				return nil, err
			}
			return keep.do(v, in)
		},
	})
}

// decided tells on the page of an object what a person decided after its order was contradicted. A charge
// of an invoice's own leaves no order under the invoice's id, but what was booked for it.
func (v *visit) decided(p *page) {
	o, t := v.order(), turn{Source: "Staff"}
	booked, decided := "Booked", !o.ResolvedAt.IsZero()
	if decided {
		t.At, t.Title = api.At(o.ResolvedAt), "Kept as booked"
	}
	if decided && o.Reported != "" {
		is, says := outcomeWords[o.Outcome], outcomeWords[o.Reported]
		t.Title, booked = "Kept as "+is, "Booked as "+says
		t.Text = sentence("%s said %s, the ledger said %s.", providerOf(o), says, is)
	}
	var entries []turn
	for _, a := range listOf(v, v.svc.Accounts.ListAdjustments, api.Page{Limit: api.MaxLimit}) {
		if a.Reference != v.id {
			continue
		}
		t.At, t.Title, t.Tone, decided = a.CreatedAt, booked, state(cmp.Or(o.Reported, provider.Paid)).Tone, true
		if t.Text == nil {
			t.Text = a.Reason + "."
		}
		entries = append(entries, v.ledgerTurns(a.ID, a.CreatedAt.Truncate(time.Second))...)
		p.Side[0].Money = append(p.Side[0].Money, facts("Booked by staff", a.Amount)...)
		if o.Reported != "" {
			p.Badge = badge{t.Tone, booked}
		}
	}
	if !decided {
		return
	}
	t.Title += " by staff"
	p.Sentence += sentence(". %s, %s.", t.Title, v.when(t.At))
	happened := slices.IndexFunc(p.Live, func(s section) bool { return s.Title == whatHappened })
	p.Live[happened] = inOrder(whatHappened, slices.Concat(p.Live[happened].Timeline, []turn{t}, entries))
}

// held ends the numbers at which [provider.Simulated] waits for a person.
const held = "0903"

// heldNeed says that the sandbox holds some of a noun's newest, but for those that are known by their
// address; empty if it holds none.
func heldNeed[T any](v *visit, n *noun[T], known map[string]bool) need {
	rows := slices.DeleteFunc(n.newest(v, "status", "processing", perPage), func(r row) bool {
		return known[r.Href] || !strings.HasSuffix(r.Number, held)
	})
	if len(rows) == 0 {
		return need{}
	}
	is := need{Badge: badge{"wait", "Held"}, Title: count(len(rows), lower(n.one), "stays", "stay") + " in processing", Act: "Settle", Href: rows[0].Href}
	is.Text = sentence("%s %s: the number ends in "+held+", so it waits for you.", rows[0].Amount, n.way+rows[0].Title)
	if len(rows) > 1 {
		is.Href = v.url(n.path) + "?status=processing"
		is.Text = sentence("The newest is %s %s. Their numbers end in "+held+", so they wait for you.", rows[0].Amount, n.way+rows[0].Title)
	}
	return is
}

// outcomes play the provider of an order under way, in which who does well or badly.
func outcomes(who, well, badly string, will []fact) []*form {
	return []*form{
		{Name: "succeed", Button: "Let " + who + " " + well, Main: true, do: settle(provider.Paid)},
		{Name: "fail", Title: "Let " + who + " " + badly, Button: capital(badly), Danger: true, Fields: ask("failure_reason"), Will: will, do: settle(provider.Refused)},
	}
}

// settle plays a provider that reports an outcome of the page's order.
func settle(o provider.Outcome) action {
	return func(v *visit, in *input) (any, error) {
		reason := in.text("failure_reason")
		if err := check.Text("failure_reason", reason, api.MaxText); err != nil {
			return nil, err
		}
		return nil, v.svc.Providers.Settle(v.Context(), v.caller, v.id, provider.Result{Outcome: o, Reason: provider.Refusal{Message: reason, Verbatim: reason != ""}})
	}
}
