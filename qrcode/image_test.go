package qrcode_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/makiuchi-d/gozxing"
	scanner "github.com/makiuchi-d/gozxing/qrcode"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
)

const payPage = "https://pay.example.com/pay/qr_0VbZaxaM0000ILT9nzQto4"

// scan reads a picture as a phone does.
func scan(img image.Image) (string, error) {
	bitmap, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		return "", err
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true, gozxing.DecodeHintType_CHARACTER_SET: "UTF-8"}
	result, err := scanner.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		return "", err
	}
	return result.GetText(), nil
}

// modules draws dark modules, each as a square of 4 pixels.
func modules(width, height int, dark func(x, y int) bool) image.Image {
	const scale = 4
	img := image.NewGray(image.Rect(0, 0, width*scale, height*scale))
	for y := range height * scale {
		for x := range width * scale {
			if !dark(x/scale, y/scale) {
				img.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	return img
}

func TestPNGScansInEverySize(t *testing.T) {
	for _, size := range []int{64, 65, 97, 128, 255, 256, 511, 512, 1023, 2048} {
		data, err := qrcode.Draw(payPage, qrcode.PNG, size)
		if err != nil {
			t.Errorf("%d: %v", size, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%d: %v", size, err)
			continue
		}
		expect.Equal(t, img.Bounds(), image.Rect(0, 0, size, size), "the picture of %d", size)
		expect.Equal(t, must.Get(scan(img))(t), payPage, "%d: scanned", size)
		// Byte 24 holds the bits of a pixel: one, for two colours.
		expect.True(t, data[24] == 1, "%d: %d bits a pixel, want 1", size, data[24])
		// The quiet zone is light all around.
		for at := range size {
			for _, p := range []image.Point{{at, 0}, {at, size - 1}, {0, at}, {size - 1, at}} {
				if r, _, _, _ := img.At(p.X, p.Y).RGBA(); r == 0 {
					t.Fatalf("%d: the margin is dark at %v", size, p)
				}
			}
		}
	}
}

func TestSVGScans(t *testing.T) {
	data := must.Get(qrcode.Draw(payPage, qrcode.SVG, 300))(t)
	text := string(data)
	size := regexp.MustCompile(`^<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300" viewBox="0 0 (\d+) (\d+)"`).FindStringSubmatch(text)
	must.True(t, size != nil && size[1] == size[2], "not a square: %.200s", text)
	n := must.Get(strconv.Atoi(size[1]))(t)
	dark := map[image.Point]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`).FindAllStringSubmatch(text, -1) {
		var at [4]int
		for i := range at {
			at[i] = must.Get(strconv.Atoi(run[i+1]))(t)
		}
		expect.True(t, at[2] == at[3], "a run is not closed: %s", run[0])
		for x := range at[2] {
			at := image.Pt(at[0]+x, at[1])
			dark[at] = true
			expect.True(t, at.In(image.Rect(4, 4, n-4, n-4)), "the quiet zone is dark at %v", at)
		}
	}
	expect.Equal(t, must.Get(scan(modules(n, n, func(x, y int) bool { return dark[image.Pt(x, y)] })))(t), payPage, "scanned")
}

// On a terminal with a dark background the blocks are light.
func TestTerminalScans(t *testing.T) {
	for _, want := range []string{payPage, "1", strings.Repeat("longer ", 40)} {
		text := must.Get(qrcode.Terminal(want))(t)
		var rows [][]rune
		for line := range strings.Lines(text) {
			rows = append(rows, []rune(strings.TrimSuffix(line, "\n")))
		}
		width := len(rows[0])
		img := modules(width, width, func(x, y int) bool {
			switch rows[y/2][x] {
			case '█':
				return false
			case '▀':
				return y%2 == 1
			case '▄':
				return y%2 == 0
			}
			return true
		})
		expect.Equal(t, must.Get(scan(img))(t), want, "scanned")
	}
}

// The longest text makes a code of version 40; a longer one is refused.
func TestLongestText(t *testing.T) {
	const most = 2331 // bytes with error correction M, ISO/IEC 18004, table 7
	text := must.Get(qrcode.Terminal(strings.Repeat("x", most)))(t)
	if line, _, _ := strings.Cut(text, "\n"); utf8.RuneCountInString(line) != 177+2*4 {
		t.Errorf("a line of %d modules", utf8.RuneCountInString(line))
	}
	expect.True(t, testkit.Err(qrcode.Terminal(strings.Repeat("x", most+1))) != nil, "a text that no code can hold is drawn")
}

// A text scans unchanged, in every mode in which QR codes encode texts.
func TestEveryTextScans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,400}`), rapid.StringMatching(`[A-Z0-9 $%*+./:-]{1,300}`),
			rapid.StringMatching(`[ -~]{1,600}`), rapid.StringMatching(`[a-z₵ɛɔŋ]{1,60}`),
			rapid.StringMatching(`([a-z]{1,9}[0-9]{4,20}[A-Z]{4,20}){1,6}`),
		).Draw(t, "text")
		data := must.Get(qrcode.Draw(text, qrcode.PNG, 300))(t)
		img := must.Get(png.Decode(bytes.NewReader(data)))(t)
		got := must.Get(scan(img))(t)
		must.True(t, got == text, "scanned %q; want %q", got, text)
	})
}

func TestImageOfCode(t *testing.T) {
	s := newStall(t, false, nil)
	code := s.code(t, qrcode.CreateParams{})
	data := must.Get(s.QRCodes.Image(t.Context(), s.caller, code.ID, qrcode.ImageParams{Format: qrcode.PNG}))(t)
	img := must.Get(png.Decode(bytes.NewReader(data)))(t)
	got := must.Get(scan(img))(t)
	expect.True(t, got == code.Data, "a picture of %d says %q; want %q", img.Bounds().Dx(), got, code.Data)
	expect.Equal(t, img.Bounds().Dx(), qrcode.DefaultSize, "a picture: number of says")
	for _, test := range []struct {
		format qrcode.Format
		size   int
		param  string
	}{{qrcode.PNG, 63, "size"}, {qrcode.SVG, 2049, "size"}, {qrcode.PNG, -1, "size"}, {"gif", 512, "format"}, {"", 512, "format"}} {
		_, err := s.QRCodes.Image(t.Context(), s.caller, code.ID, qrcode.ImageParams{Format: test.format, Size: test.size})
		expect.Equal(t, api.CodeOf(err), api.ParameterInvalid, "%s of %d: code", test.format, test.size)
		expect.True(t, strings.Contains(fmt.Sprint(err), test.param), "%s of %d: got %v", test.format, test.size, err)
	}
}
