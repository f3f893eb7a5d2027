package qrbits

import (
	"image"
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	qr "github.com/skip2/go-qrcode"
	"pgregory.net/rapid"
	"rsc.io/qr/coding"
)

const payPage = "https://pay.example.com/pay/qr_0VbZaxaM0000ILT9nzQto4"

// scan reads modules as a phone does.
func scan(t rapid.TB, modules [][]bool) string {
	const scale = 3
	img := image.NewGray(image.Rect(0, 0, len(modules)*scale, len(modules)*scale))
	for y := range len(modules) * scale {
		for x := range len(modules) * scale {
			if !modules[y/scale][x/scale] {
				img.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	bitmap, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		t.Fatal(err)
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true, gozxing.DecodeHintType_CHARACTER_SET: "UTF-8"}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		t.Fatal(err)
	}
	return result.GetText()
}

// Every text is read as it was, in every way in which texts are encoded.
func TestScans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,400}`), rapid.StringMatching(`[A-Z0-9 $%*+./:-]{1,300}`),
			rapid.StringMatching(`[ -~]{1,600}`), rapid.StringMatching(`[a-z₵ɛɔŋ]{1,60}`),
		).Draw(t, "text")
		modules, err := Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := scan(t, modules); got != text {
			t.Fatalf("scanned %q, want %q", got, text)
		}
	})
}

// Around the code are four light modules, and not five.
func TestQuietZone(t *testing.T) {
	modules, err := Encode(payPage)
	if err != nil {
		t.Fatal(err)
	}
	for at := range modules {
		for depth := range Quiet {
			last := len(modules) - 1 - depth
			if modules[depth][at] || modules[last][at] || modules[at][depth] || modules[at][last] {
				t.Fatal("the quiet zone is dark at ", at, depth)
			}
		}
	}
	if !modules[Quiet][Quiet] {
		t.Error("the code does not begin after the quiet zone")
	}
}

// The longest text makes the largest code; a longer one is refused.
func TestTooLong(t *testing.T) {
	const most = 2331 // bytes in version 40 with M, of the standard's table 7
	modules, err := Encode(strings.Repeat("x", most))
	if err != nil || len(modules) != 177+2*Quiet {
		t.Errorf("%d modules, %v", len(modules), err)
	}
	if _, err := Encode(strings.Repeat("x", most+1)); err == nil {
		t.Error("a text that is too long was encoded")
	}
}

// The penalty is the one that another library counts.
func TestPenalty(t *testing.T) {
	for version, text := range map[coding.Version]string{4: payPage, 1: "1", 12: "HELLO WORLD", 11: strings.Repeat("longer ", 20), 40: "x"} {
		for mask := range coding.Mask(masks) {
			encoding := coding.String(text)
			plan, err := coding.NewPlan(version, coding.M, mask)
			if err != nil {
				t.Fatal(err)
			}
			code, err := plan.Encode(encoding)
			if err != nil {
				t.Fatal(err)
			}
			m := encoder.NewByteMatrix(code.Size, code.Size)
			for y := range code.Size {
				for x := range code.Size {
					m.SetBool(x, y, code.Black(x, y))
				}
			}
			want := encoder.MaskUtil_applyMaskPenaltyRule1(m) + encoder.MaskUtil_applyMaskPenaltyRule2(m) +
				encoder.MaskUtil_applyMaskPenaltyRule4(m)
			corners := encoder.MaskUtil_applyMaskPenaltyRule3(m)
			// ZXing counts the quiet zone as light ones before and after a corner, and one
			// with light ones on both sides once.
			if got := penalty(rows(code)); got < want || got > want+2*corners {
				t.Errorf("%q, mask %d: %d, want %d to %d", text, mask, got, want, want+2*corners)
			}
		}
	}
}

// BenchmarkEncode compares with another library: of-skip2 is how many times as long
// its modules take. The two take turns.
func BenchmarkEncode(b *testing.B) {
	var ours, other time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		if _, err := Encode(payPage); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begun)
		b.StopTimer()
		begun = time.Now()
		code, err := qr.New(payPage, qr.Medium)
		if err != nil {
			b.Fatal(err)
		}
		code.Bitmap()
		other += time.Since(begun)
		b.StartTimer()
	}
	b.ReportMetric(float64(other)/float64(ours), "of-skip2")
}
