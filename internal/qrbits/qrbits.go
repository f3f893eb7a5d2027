// Package qrbits makes the modules of QR codes.
//
// The library that it uses encodes a text for a given mask. Which of the eight masks
// is best is told here, by the penalties of ISO/IEC 18004, 7.8.3. What is drawn of the
// modules is the business of the caller.
//
// A code of 53 letters takes two fifths of what the library skip2/go-qrcode takes: a
// text is encoded once and not for each mask, since masks differ by bits that depend on
// the size alone, which are kept; and penalties are counted for a row at a time, as
// operations on its bits.
package qrbits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"rsc.io/qr/coding"
)

// Quiet is the width of the light zone around a code, in modules.
const Quiet = 4

// Encode returns the modules of a text's QR code with error correction M and the
// quiet zone, row by row, true for dark ones. A text of some 2,300 bytes is too long.
// It is safe for concurrent use.
func Encode(text string) ([][]bool, error) {
	var encoding coding.Encoding = coding.String(text)
	for _, denser := range []coding.Encoding{coding.Alpha(text), coding.Num(text)} {
		if denser.Check() == nil {
			encoding = denser
		}
	}
	version := coding.Version(coding.MinVersion)
	for encoding.Bits(version) > 8*version.DataBytes(coding.M) {
		if version++; version > coding.MaxVersion {
			return nil, errors.New("qrbits: the text is too long for a QR code")
		}
	}
	form, err := forms[version]()
	if err != nil {
		return nil, err
	}
	code, err := form.plan.Encode(encoding)
	if err != nil {
		return nil, fmt.Errorf("qrbits: %w", err)
	}
	first, masked := rows(code), make([]row, code.Size)
	var best []row
	for least, mask := 0, 0; mask < masks; mask++ {
		for y := range masked {
			masked[y] = first[y].xor(form.masks[mask][y])
		}
		if p := penalty(masked); best == nil || p < least {
			if best == nil {
				best = make([]row, code.Size)
			}
			least = p
			copy(best, masked)
		}
	}

	size := code.Size + 2*Quiet
	modules, all := make([][]bool, size), make([]bool, size*size)
	for y := range modules {
		modules[y] = all[y*size:][:size:size]
		if y >= Quiet && y < size-Quiet {
			for x := range code.Size {
				modules[y][Quiet+x] = best[y-Quiet].dark(x)
			}
		}
	}
	return modules, nil
}

const masks = 8

// form is what codes of a version have in common.
type form struct {
	plan *coding.Plan // of the first mask
	// masks are what has to be changed to have another mask than the first.
	masks [masks][]row
}

// forms are made when they are first needed; all of them take 3 MB.
var forms = func() (all [coding.MaxVersion + 1]func() (*form, error)) {
	for version := range all {
		all[version] = sync.OnceValues(func() (*form, error) { return newForm(coding.Version(version)) })
	}
	return all
}()

func newForm(version coding.Version) (*form, error) {
	f := &form{}
	var first []row
	for mask := range coding.Mask(masks) {
		plan, err := coding.NewPlan(version, coding.M, mask)
		if err != nil {
			return nil, fmt.Errorf("qrbits: %w", err)
		}
		code, err := plan.Encode(coding.Num("0"))
		if err != nil {
			return nil, fmt.Errorf("qrbits: %w", err)
		}
		changed := rows(code)
		if mask == 0 {
			f.plan, first = plan, rows(code)
		}
		for y := range changed {
			changed[y] = changed[y].xor(first[y])
		}
		f.masks[mask] = changed
	}
	return f, nil
}

// row holds the modules of a row, from the highest bit of the first word, dark ones
// as 1; beyond the row are zeros.
type row [3]uint64

func rows(c *coding.Code) []row {
	all := make([]row, c.Size)
	for y := range all {
		var line [24]byte
		copy(line[:], c.Bitmap[y*c.Stride:][:(c.Size+7)/8]) // Stride is in bytes
		for i := range all[y] {
			all[y][i] = binary.BigEndian.Uint64(line[8*i:])
		}
	}
	return all
}

func (r row) dark(x int) bool { return r[x/64]>>(63-x%64)&1 != 0 }

func (r row) and(o row) row { return row{r[0] & o[0], r[1] & o[1], r[2] & o[2]} }
func (r row) but(o row) row { return row{r[0] &^ o[0], r[1] &^ o[1], r[2] &^ o[2]} }
func (r row) xor(o row) row { return row{r[0] ^ o[0], r[1] ^ o[1], r[2] ^ o[2]} }

// next has each module where the one n places before it was.
func (r row) next(n int) row {
	return row{r[0]<<n | r[1]>>(64-n), r[1]<<n | r[2]>>(64-n), r[2] << n}
}

// before is the inverse of next.
func (r row) before(n int) row {
	return row{r[0] >> n, r[1]>>n | r[0]<<(64-n), r[2]>>n | r[1]<<(64-n)}
}

func (r row) count() int {
	return bits.OnesCount64(r[0]) + bits.OnesCount64(r[1]) + bits.OnesCount64(r[2])
}

// full is a row of n dark modules.
func full(n int) row {
	var r row
	for i := range r {
		r[i] = ^(^uint64(0) >> max(0, min(64, n-64*i)))
	}
	return r
}

// penalty is how hard a code is to scan.
func penalty(code []row) int {
	n := len(code)
	inside, beside := full(n), full(n-1)
	light := make([]row, n)
	for y, r := range code {
		light[y] = inside.but(r)
	}
	points, dark := 0, 0
	var below [4]row // the same as the module below, of the last rows, the newest first
	var fifth row    // of the last row
	for y, r := range code {
		dark += r.count()

		// A run of five or more of the same: 3 and 1 for each further one, which is
		// 1 for each five in a row, and 2 for the first of them.
		right := beside.but(r.xor(r.next(1))) // the same as the next module
		five := right.and(right.next(1)).and(right.next(2)).and(right.next(3))
		points += five.count() + 2*five.but(five.before(1)).count()
		copy(below[1:], below[:])
		below[0] = row{}
		if y+1 < n {
			below[0] = inside.but(r.xor(code[y+1]))
		}
		five = below[0].and(below[1]).and(below[2]).and(below[3])
		points += five.count() + 2*five.but(fifth).count()
		fifth = five

		// Blocks of two by two.
		points += 3 * below[0].and(below[0].next(1)).and(right).count()

		// What looks like a corner, 1:1:3:1:1, with four light ones before or after.
		l := light[y]
		corner := r.and(l.next(1)).and(r.next(2)).and(r.next(3)).and(r.next(4)).and(l.next(5)).and(r.next(6))
		points += 40 * corner.and(l.next(7)).and(l.next(8)).and(l.next(9)).and(l.next(10)).count()
		points += 40 * corner.and(l.before(1)).and(l.before(2)).and(l.before(3)).and(l.before(4)).count()
		if y+6 >= n {
			continue
		}
		corner = r.and(light[y+1]).and(code[y+2]).and(code[y+3]).and(code[y+4]).and(light[y+5]).and(code[y+6])
		if y+10 < n {
			points += 40 * corner.and(light[y+7]).and(light[y+8]).and(light[y+9]).and(light[y+10]).count()
		}
		if y >= 4 {
			points += 40 * corner.and(light[y-1]).and(light[y-2]).and(light[y-3]).and(light[y-4]).count()
		}
	}
	// Ten for each whole 5% away from a half.
	total := n * n
	return points + max(20*dark-10*total, 10*total-20*dark)/total*10
}
