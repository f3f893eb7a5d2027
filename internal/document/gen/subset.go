package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// subset returns a TrueType font with the given letters, as far as the font has them. It keeps
// outlines and widths, and drops kerning and the hints for coarse screens.
func subset(font []byte, letters []rune) (small []byte, err error) {
	defer func() {
		if recover() != nil { // an index beyond the font
			err = errors.New("the font is broken")
		}
	}()
	s := subsetter{tables: map[string][]byte{}, numbers: map[uint16]uint16{}}
	for i := range int(u16(font, 4)) {
		entry := font[12+16*i:]
		offset := u32(entry, 8)
		s.tables[string(entry[:4])] = font[offset : offset+u32(entry, 12)]
	}
	for _, name := range []string{"cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "OS/2", "post"} {
		if s.tables[name] == nil {
			return nil, fmt.Errorf("the font has no table %s", name)
		}
	}
	s.add(0) // the glyph of missing letters
	cmap, err := s.letters(letters)
	if err != nil {
		return nil, err
	}
	if err := s.outlines(); err != nil {
		return nil, err
	}
	return s.font(cmap), nil
}

// subsetter is a subset under construction. The tables are the font's.
type subsetter struct {
	tables  map[string][]byte
	glyphs  []uint16          // of the font, by number in the subset
	numbers map[uint16]uint16 // the inverse

	glyf, loca, hmtx []byte
}

func u16(b []byte, at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }

// add adds a glyph of the font and returns its number in the subset.
func (s *subsetter) add(glyph uint16) uint16 {
	n, ok := s.numbers[glyph]
	if !ok {
		n = uint16(len(s.glyphs))
		s.numbers[glyph] = n
		s.glyphs = append(s.glyphs, glyph)
	}
	return n
}

// letters adds sorted letters, and returns the table that maps them to glyphs: a segment for each
// letter, in format 4.
func (s *subsetter) letters(letters []rune) ([]byte, error) {
	var ends, starts, deltas []byte
	for _, r := range letters {
		if glyph := s.find(r); glyph != 0 {
			ends = binary.BigEndian.AppendUint16(ends, uint16(r))
			starts = binary.BigEndian.AppendUint16(starts, uint16(r))
			deltas = binary.BigEndian.AppendUint16(deltas, s.add(glyph)-uint16(r))
		}
	}
	if len(ends) == 0 {
		return nil, errors.New("the font has none of the letters")
	}
	ends = append(ends, 0xff, 0xff)
	starts = append(starts, 0xff, 0xff)
	deltas = append(deltas, 0, 1)
	segments := len(ends) / 2

	table := []byte{0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12} // one table, of Windows' Unicode letters
	table = append(table, 0, 4)
	table = binary.BigEndian.AppendUint16(table, uint16(16+8*segments))
	table = append(table, 0, 0)
	table = binary.BigEndian.AppendUint16(table, uint16(2*segments))
	table = append(table, make([]byte, 6)...) // for binary searches, which gopdf does not use
	table = append(append(table, ends...), 0, 0)
	table = append(append(table, starts...), deltas...)
	return append(table, make([]byte, 2*segments)...), nil
}

// find returns the font's glyph of a letter, or 0.
func (s *subsetter) find(r rune) uint16 {
	cmap := s.tables["cmap"]
	for i := range int(u16(cmap, 2)) {
		if u16(cmap, 4+8*i) != 3 || u16(cmap, 6+8*i) != 1 {
			continue
		}
		table := cmap[u32(cmap, 8+8*i):]
		size := int(u16(table, 6))
		for at := 14; at < 14+size; at += 2 {
			end, start := u16(table, at), u16(table, at+size+2)
			if rune(end) < r || rune(start) > r {
				continue
			}
			delta, offset := u16(table, at+2*size+2), u16(table, at+3*size+2)
			if offset == 0 {
				return uint16(r) + delta
			}
			if glyph := u16(table, at+3*size+2+int(offset)+2*int(uint16(r)-start)); glyph != 0 {
				return glyph + delta
			}
		}
	}
	return 0
}

// outline returns the font's outline of a glyph, which is empty for a space.
func (s *subsetter) outline(glyph uint16) []byte {
	loca, n := s.tables["loca"], int(glyph)
	if u16(s.tables["head"], 50) == 0 {
		return s.tables["glyf"][2*int(u16(loca, 2*n)) : 2*int(u16(loca, 2*n+2))]
	}
	return s.tables["glyf"][u32(loca, 4*n):u32(loca, 4*n+4)]
}

// outlines writes the glyphs, with the glyphs that they consist of, and their widths.
func (s *subsetter) outlines() error {
	metrics, known := s.tables["hmtx"], int(u16(s.tables["hhea"], 34))
	for i := 0; i < len(s.glyphs); i++ { // the loop adds glyphs
		s.loca = binary.BigEndian.AppendUint16(s.loca, uint16(len(s.glyf)/2))
		g := s.glyphs[i]
		s.glyf = append(s.glyf, s.plain(s.outline(g))...)
		s.glyf = append(s.glyf, make([]byte, -len(s.glyf)&3)...)
		s.hmtx = append(s.hmtx, metrics[4*min(int(g), known-1):][:2]...)
		if int(g) < known {
			s.hmtx = append(s.hmtx, metrics[4*int(g)+2:][:2]...)
		} else {
			s.hmtx = append(s.hmtx, metrics[4*known+2*(int(g)-known):][:2]...)
		}
	}
	s.loca = binary.BigEndian.AppendUint16(s.loca, uint16(len(s.glyf)/2))
	if len(s.glyf) >= 1<<17 {
		return errors.New("too many letters for a subset")
	}
	return nil
}

// The flags of a part of a composite glyph.
const (
	wordArguments = 1 << 0
	hasScale      = 1 << 3
	moreParts     = 1 << 5
	twoScales     = 1 << 6
	twoByTwo      = 1 << 7
	hasHints      = 1 << 8
)

// plain returns an outline without hints. A composite outline gets the subset's numbers of its
// parts.
func (s *subsetter) plain(outline []byte) []byte {
	if len(outline) == 0 {
		return nil
	}
	if contours := int16(u16(outline, 0)); contours >= 0 {
		at := 10 + 2*int(contours)
		rest := outline[at+2+int(u16(outline, at)):]
		return append(append(slices.Clone(outline[:at]), 0, 0), rest...)
	}
	outline = slices.Clone(outline)
	for at := 10; ; {
		flags := u16(outline, at)
		binary.BigEndian.PutUint16(outline[at:], flags&^hasHints)
		binary.BigEndian.PutUint16(outline[at+2:], s.add(u16(outline, at+2)))
		at += 6
		if flags&wordArguments != 0 {
			at += 2
		}
		switch {
		case flags&hasScale != 0:
			at += 2
		case flags&twoScales != 0:
			at += 4
		case flags&twoByTwo != 0:
			at += 8
		}
		if flags&moreParts == 0 {
			return outline[:at]
		}
	}
}

// font joins the tables. It leaves their checksums at zero: gopdf computes those of the tables
// that it changes, and readers of documents ignore them.
func (s *subsetter) font(cmap []byte) []byte {
	head, hhea, maxp := slices.Clone(s.tables["head"]), slices.Clone(s.tables["hhea"]), slices.Clone(s.tables["maxp"])
	binary.BigEndian.PutUint16(head[50:], 0) // places are written by twos
	binary.BigEndian.PutUint16(hhea[34:], uint16(len(s.glyphs)))
	binary.BigEndian.PutUint16(maxp[4:], uint16(len(s.glyphs)))
	tables := []struct {
		name string
		data []byte
	}{
		{"OS/2", s.tables["OS/2"]},
		{"cmap", cmap},
		{"glyf", s.glyf},
		{"head", head},
		{"hhea", hhea},
		{"hmtx", s.hmtx},
		{"loca", s.loca},
		{"maxp", maxp},
		{"name", s.tables["name"]},
		{"post", s.tables["post"]},
	}
	b := []byte{0, 1, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(len(tables)))
	b = append(b, make([]byte, 6)...)
	at := len(b) + 16*len(tables)
	for _, t := range tables {
		b = append(append(b, t.name...), 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(at))
		b = binary.BigEndian.AppendUint32(b, uint32(len(t.data)))
		at += (len(t.data) + 3) &^ 3
	}
	for _, t := range tables {
		b = append(b, t.data...)
		b = append(b, make([]byte, -len(t.data)&3)...)
	}
	return b
}
