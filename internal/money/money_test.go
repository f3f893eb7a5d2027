package money

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestParseGHS(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 100, "1.1": 110, "1.15": 115, "4.35": 435, "19.99": 1999, "8.41": 841,
		"0.01": 1, "999999.99": Max, "-5.5": -550, "150.50": 15050,
		"999999999999999.99": 99_999_999_999_999_999,
	} {
		d, err := ParseGHS(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		expect.Equal(t, must.Get(ToPesewas(d))(t), want, "%s", text)
	}
	for text, want := range map[string]error{
		"": ErrSyntax, "-": ErrSyntax, ".5": ErrSyntax, "5.": ErrSyntax, "+5": ErrSyntax, "05": ErrSyntax, "--5": ErrSyntax,
		"1e3": ErrSyntax, "1E3": ErrSyntax, "0x10": ErrSyntax, "1,000": ErrSyntax, " 1": ErrSyntax, "-0": ErrSyntax, "-0.00": ErrSyntax,
		"٣": ErrSyntax, "1.234": ErrPrecision, "0.001": ErrPrecision, "1.500": ErrPrecision,
		"1000000000000000": ErrRange, strings.Repeat("9", 400): ErrRange, "1e1000000": ErrSyntax,
	} {
		if _, err := ParseGHS(text); !errors.Is(err, want) {
			t.Errorf("%.20q: got %v, want %v", text, err, want)
		}
	}
}

func TestParseInput(t *testing.T) {
	for text, want := range map[string]string{
		"12.50": "12.5", " 1,234.5 ": "1234.5", "1 000": "1000", "1,500": "1500", "-1,234,567.80": "-1234567.8",
	} {
		got, err := ParseInput(text)
		must.True(t, err == nil, "%q: got %v, %v, want %s", text, got, err, want)
		must.True(t, got != nil, "%q: got nothing, want %s", text, want)
		expect.Equal(t, got.String(), want, "%q", text)
	}
	for _, text := range []string{"", "  "} {
		if got, err := ParseInput(text); got != nil || err != nil {
			t.Errorf("%q: got %v, %v, want neither", text, got, err)
		}
	}
	for _, text := range []string{"12.505", "a", "1e3", "+1", "1,50", "12,5", "12 50", "1,23,456", "1234,567", "1,500,00", "1.500,00", ",500", "1,,500"} {
		if got, err := ParseInput(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestPesewasOfStrangeDecimals(t *testing.T) {
	for _, test := range []struct {
		d    decimal.Decimal
		want int64
		err  error
	}{
		{decimal.New(1500, -3), 150, nil}, // 1.500 is exact
		{decimal.New(0, math.MaxInt32), 0, nil},
		{decimal.New(1, 15), 100_000_000_000_000_000, nil},
		{decimal.New(1, math.MaxInt32), 0, ErrRange},
		{decimal.New(1, math.MinInt32), 0, ErrPrecision},
		{decimal.New(1001, -3), 0, ErrPrecision},
		{decimal.New(math.MaxInt64, 0), 0, ErrRange},
		{decimal.RequireFromString(strings.Repeat("9", 400)), 0, ErrRange},
	} {
		got, err := ToPesewas(test.d)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%d e%d: got %d, %v; want %d, %v", test.d.CoefficientInt64(), test.d.Exponent(), got, err, test.want, test.err)
		}
	}
}

func TestFewDigits(t *testing.T) {
	for exponent, want := range map[int32]bool{math.MinInt32: false, -41: false, -40: true, 0: true, 15: true, 16: false, math.MaxInt32: false} {
		expect.Equal(t, FewDigits(decimal.New(1, exponent)), want, "1e%d", exponent)
	}
}

func TestEveryAmountSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1e15, 1e15).Draw(t, "pesewas")
		text := decimal.New(n, -2).String()
		d, err := ParseGHS(text)
		must.True(t, err == nil, "%s: %v", text, err)
		got := must.Get(ToPesewas(d))(t)
		must.True(t, got == n, "%s: got %d; want %d", text, got, n)
	})
}

func TestText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0.00", 5: "0.05", 10: "0.10", 54: "0.54", 99: "0.99", 100: "1.00", 123456: "1,234.56", 99999999: "999,999.99", 100000000: "1,000,000.00",
		-123456: "-1,234.56", math.MaxInt64: "92,233,720,368,547,758.07", math.MinInt64: "-92,233,720,368,547,758.08",
	} {
		expect.Equal(t, Text(n), want, "%d", n)
	}
}

func FuzzParseGHS(f *testing.F) {
	for _, seed := range []string{"0", "1.15", "-3.5", "1e5", "00", ".1", "99999999999999999999", "1.", "-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseGHS(text)
		if err != nil {
			return
		}
		n, err := ToPesewas(d)
		must.True(t, err == nil, "%q is parsed but has no pesewas: %v", text, err)
		again := must.Get(ParseGHS(d.String()))(t)
		must.True(t, again.Equal(d) && n == d.Shift(2).IntPart(), "%q: %s, %d", text, d, n)
	})
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		pesewas int64
		percent string
		want    int64
	}{
		{0, "15", 0},
		{150_50, "1", 1_51}, // 150.5 pesewas: half up
		{149, "1", 1},
		{150, "1", 2},
		{49, "1", 0},
		{1_15, "2.5", 3}, // 2.875
		{4_35, "10", 44}, // 43.5
		{Max, "100", Max},
		{19_99, "0.000001", 0},
	} {
		expect.Equal(t, Share(c.pesewas, decimal.RequireFromString(c.percent)), c.want, "%s%% of %d", c.percent, c.pesewas)
	}
}

// A proration is the exact fraction, rounded half away from zero: the nearest whole number, whose
// distance is at most a half, and of two equally near ones that with the larger absolute value.
func TestProrationIsTheNearestPesewa(t *testing.T) {
	const day = 24 * time.Hour
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(-99_999_999, 99_999_999).Draw(t, "amount")
		whole := rapid.Int64Range(1, 3*366*86_400).Draw(t, "whole")
		left := rapid.Int64Range(0, whole).Draw(t, "left")
		got := Prorate(amount, time.Duration(left)*time.Second, time.Duration(whole)*time.Second)
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), big.NewInt(left)), big.NewInt(whole))
		away := new(big.Rat).Sub(new(big.Rat).SetInt64(got), exact)
		half := big.NewRat(1, 2)
		size := new(big.Rat).Abs(away)
		if size.Cmp(half) > 0 || size.Cmp(half) == 0 && new(big.Rat).Abs(new(big.Rat).SetInt64(got)).Cmp(new(big.Rat).Abs(exact)) < 0 {
			t.Errorf("%s became %d", exact.FloatString(6), got)
		}
	})
	expect.Equal(t, Prorate(-1, time.Second, 2*time.Second), -1, "half of -1")
	expect.Equal(t, Prorate(99_999_999, 365*day, 365*day), 99_999_999, "a whole period")
	expect.Equal(t, Prorate(1000, -time.Second, day), 0, "a period that is over")
	expect.Equal(t, Prorate(1000, time.Second, 0), 0, "a period of no length")
}
