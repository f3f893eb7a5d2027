package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// AccountName is the name that an account is registered in.
type AccountName struct {
	Object   string `json:"object"` // always "account_name_lookup"
	Type     Type   `json:"type"`
	Provider string `json:"provider"` // the mobile-money provider, or the code of the bank
	Number   string `json:"number"`   // masked
	Name     string `json:"account_name"`
}

// LookUpAccountName asks the rail for the registered name of a mobile-money wallet or a bank
// account. An empty Type follows from the number that is given. For a service wallet call
// [account.Service.LookUpServiceID].
//
// Call it without an idempotency key before a payout that has one. With a key it stores its answer under
// that key, as a call that changes something does.
//
// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, invalid_destination,
// recipient_unavailable, rate_limited (beyond the [NameQuota] of the merchant and mode), and
// service_unavailable. The last means that there is no rail, or that the rail does not tell names or
// does not answer.
//
// [account.Service.LookUpServiceID]: https://pkg.go.dev/github.com/seed-7082ffec/payments/account#Service.LookUpServiceID
func (s *Service) LookUpAccountName(ctx context.Context, caller api.Caller, p DestinationParams) (*AccountName, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("payout: look up a name: %w", api.ErrNetworkInTx)
	}
	op := engine.Operation{Name: "account_name.look_up", Params: p}
	// The call changes nothing, but with an idempotency key a replay gets the stored answer.
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*AccountName, error) {
		return s.lookUpName(ctx, caller, p)
	})
}

// lookUpName runs LookUpAccountName for a call that is not a replay.
func (s *Service) lookUpName(ctx context.Context, caller api.Caller, p DestinationParams) (*AccountName, error) {
	if p.Type == "" {
		p.Type = MobileMoney
		if p.PhoneNumber == "" && (p.AccountNumber != "" || p.BankCode != "") {
			p.Type = BankTransfer
		}
	}
	if p.Type == ServiceWallet {
		return nil, api.Invalid("type", "type must be mobile_money or bank_transfer. The name of a service wallet comes from POST /v1/lookup/service-id.")
	}
	shown, to, err := p.check(s.internal.config.Banks)
	if err != nil {
		return nil, alone("destination", err)
	}
	if err := s.countNameLookup(ctx, caller); err != nil {
		return nil, err
	}
	name, err := s.internal.accountName(ctx, caller.Live, shown.Type, to)
	if err != nil {
		return nil, alone("destination", err)
	}
	return &AccountName{
		Object: "account_name_lookup", Type: shown.Type, Provider: *shown.Provider, Number: shown.Number, Name: name,
	}, nil
}

// alone removes the enclosing object's name from a refusal's parameter. It is the opposite of
// [api.Error.Under].
func alone(object string, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return err
	}
	bare := *refusal
	bare.Message = strings.ReplaceAll(bare.Message, object+".", "")
	bare.Param = strings.TrimPrefix(bare.Param, object+".")
	return &bare
}

// errNoNames is the refusal if the rail cannot tell names, or cannot do so now.
var errNoNames = api.Errorf(api.Unavailable, "", "The provider does not tell the name of this account at the moment. Try again later, or go on without its name.")

// accountName asks the rail of a mode for the name of an account.
func (in *Internal) accountName(ctx context.Context, live bool, t Type, to *target) (string, error) {
	rail := in.rail(live)
	if rail == nil {
		return "", errNoRail
	}
	enquirer, ok := rail.(provider.NameEnquirer)
	if !ok {
		return "", errNoNames
	}
	name, err := dispatch.CallHost(ctx, enquirer.AccountName, to.enquiry(live))
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		told := refusal.Filled()
		return "", api.Errorf(told.Code, numberParam(t), "%s", told.Message)
	}
	name = dispatch.Truncate(strings.Join(strings.Fields(strings.Map(printable, name)), " "), api.MaxName)
	if err != nil || name == "" {
		// The error may quote the number, which must not reach the log.
		in.engine.Log.WarnContext(ctx, "the rail could not tell the name of an account", "type", t)
		return "", errNoNames
	}
	return name, nil
}

func printable(r rune) rune {
	if unicode.IsControl(r) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}

// numberParam is the parameter that names an external account.
func numberParam(t Type) string {
	if t == BankTransfer {
		return "destination.account_number"
	}
	return "destination.phone_number"
}

// errNameMismatch refuses a transfer whose account has another name. It leaves the registered
// name out: a caller who may know it can look it up.
var errNameMismatch = api.Errorf(api.AccountNameMismatch, "destination.account_name",
	"The account is registered in another name than destination.account_name. Look the name up, and make sure that the account is the recipient's.")

// matchName refuses a transfer that requires a name, if its account has another.
func (in *Internal) matchName(ctx context.Context, live bool, p *preparedTransfer) error {
	if !p.params.Destination.MatchName {
		return nil
	}
	registered, err := in.accountName(ctx, live, p.destination.Type, p.target)
	if err != nil {
		return err
	}
	if !in.config.NameMatch(p.params.Destination.AccountName, registered) {
		return errNameMismatch
	}
	return nil
}

// NameMatch decides whether the recipient's given name matches the name that the account is
// registered in. It must be safe for concurrent use.
type NameMatch func(given, registered string) bool

// DefaultNameTolerance is the tolerance of names, in percent, if the host sets none. It allows one
// or two wrong letters in a name of two words.
const DefaultNameTolerance = 20

// MatchNames compares names letter by letter. It accepts names that differ in at most tolerance
// percent of the letters of the longer one: 0 accepts equal names only, and 100 accepts any.
// Case, accents, punctuation, titles and the order of words do not count. The letters of Ghana's
// languages equal their substitutes (ɛ is e, ɔ is o, ŋ is n). A missing middle name counts with
// all its letters. A host whose provider tells full names should use 40.
func MatchNames(tolerance int) NameMatch {
	return func(given, registered string) bool {
		a, b := fold(given), fold(registered)
		longer := max(len(a), len(b))
		return longer > 0 && min(len(a), len(b)) > 0 && distance(a, b)*100 <= tolerance*longer
	}
}

// titles do not count as a part of a name.
var titles = []string{"mr", "mrs", "ms", "miss", "dr", "prof", "rev"}

// fold returns the letters of a name in a normal form, which is equal for all spellings that must
// match.
func fold(name string) []rune {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r == 'ɛ':
			r = 'e'
		case r == 'ɔ':
			r = 'o'
		case r == 'ŋ':
			r = 'n'
		case r == 'ɖ':
			r = 'd'
		case r == 'ƒ':
			r = 'f'
		case r == 'ɣ':
			r = 'g'
		case r == 'ʋ':
			r = 'v'
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’', r == '.':
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		}
		b.WriteRune(r)
	}
	words := slices.DeleteFunc(strings.Fields(b.String()), func(word string) bool { return slices.Contains(titles, word) })
	slices.Sort(words)
	return []rune(strings.Join(words, " "))
}

// distance is the smallest number of letters to insert, remove or replace that turns one text
// into the other (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		above := row[0] // of the column to the left
		row[0] = i + 1
		for j := range b {
			change := above
			if a[i] != b[j] {
				change++
			}
			above = row[j+1]
			row[j+1] = min(change, above+1, row[j]+1)
		}
	}
	return row[len(b)]
}
