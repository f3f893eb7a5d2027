package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The variables that tell a woven program which mutant to be, and into which file it writes the numbers of the
// mutants that it reaches.
const (
	activeVariable = "PAYMENTS_MUTANT"
	traceVariable  = "PAYMENTS_MUTANT_TRACE"
)

// helper is a file that each mutated package gets.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv(%q))
	mutantTrace     = os.Getenv(%q)
	mutantSeen      [%d]atomic.Bool
)

func mutantIs(n int) bool {
	if mutantTrace != "" && !mutantSeen[n].Swap(true) {
		file, err := os.OpenFile(mutantTrace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(strconv.Itoa(n) + "\n")
			_ = file.Close()
		}
		if err != nil {
			panic(err)
		}
	}
	return n == mutantActive
}
`

// span is where a site stands in the woven text.
type span struct {
	from, to int
	site     *site
}

// weave returns the file's text with all its mutants, each of which is made if its number is active.
func (t *text) weave() (woven []byte, spans []span) {
	var out bytes.Buffer
	rest := t.sites
	var write func(from, to int)
	write = func(from, to int) {
		for len(rest) > 0 && rest[0].from < to {
			s := rest[0]
			rest = rest[1:]
			out.Write(t.content[from:s.from])
			begin := out.Len()
			var made []*mutant
			for _, m := range s.mutants {
				if !m.broken {
					made = append(made, m)
				}
			}
			switch {
			case len(made) == 0:
				write(s.from, s.to)
			case s.result == "":
				for _, m := range made {
					fmt.Fprintf(&out, "if mutantIs(%d) { %s } else ", m.number, m.after)
				}
				out.WriteString("{ ")
				write(s.from, s.to)
				out.WriteString(" }")
			default:
				fmt.Fprintf(&out, "(func() %s {", s.result)
				for _, m := range made {
					fmt.Fprintf(&out, "if mutantIs(%d) { return %s }; ", m.number, m.after)
				}
				out.WriteString("return ")
				write(s.from, s.to)
				out.WriteString(" }())")
			}
			spans = append(spans, span{begin, out.Len(), s})
			from = s.to
		}
		out.Write(t.content[from:to])
	}
	write(0, len(t.content))
	return out.Bytes(), spans
}

// weave numbers all mutants, and writes an overlay of the go command in which they all are. A mutant that does not
// compile is marked as broken, and left out.
func (s *source) weave(dir string) (overlay string, all []*mutant, err error) {
	for _, p := range s.chosen {
		for _, name := range p.GoFiles {
			for _, site := range p.texts[name].sites {
				for _, m := range site.mutants {
					all = append(all, m)
					m.number = len(all)
				}
			}
		}
	}
	replace := map[string]string{}
	for i, p := range s.chosen {
		woven, err := s.weavePackage(p, len(all)+1)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", p.short, err)
		}
		for name, content := range woven {
			file := filepath.Join(dir, fmt.Sprintf("%d_%s", i, name))
			if err := os.WriteFile(file, content, 0o600); err != nil {
				return "", nil, err
			}
			replace[filepath.Join(p.Dir, name)] = file
		}
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, all, os.WriteFile(overlay, data, 0o600)
}

func (s *source) weavePackage(p *pkg, numbers int) (woven map[string][]byte, err error) {
	for {
		woven, spans := map[string][]byte{}, map[string][]span{}
		for name, t := range p.texts {
			woven[name], spans[name] = t.weave()
		}
		woven["zz_mutant.go"] = fmt.Appendf(nil, helper, p.Name, activeVariable, traceVariable, numbers)
		broken, err := s.check(p, woven)
		if err != nil || len(broken) == 0 {
			return woven, err
		}
		for name, offsets := range broken {
			for _, at := range offsets {
				if !breaks(spans[name], at) {
					return nil, fmt.Errorf("%s does not compile at %d for no mutant", name, at)
				}
			}
		}
	}
}

// breaks marks the mutants of the smallest site around an error, and reports whether there is one.
func breaks(spans []span, at int) bool {
	for _, s := range spans { // an inner one comes before its outer one
		if s.from <= at && at < s.to {
			for _, m := range s.site.mutants {
				m.broken = true
			}
			return true
		}
	}
	return false
}
