package house_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// longestSentence is how many words a sentence of the documentation may have, unless it lists refusals.
const longestSentence = 30

// translated are turns that readers had to read twice.
var translated = regexp.MustCompile(`\b(` + strings.Join([]string{
	`(has|have|had) (it|them|[A-Z]\w+) (ask|book|call|charge|forget|make|pay|record|send|show|take|wait)`,
	`(has|have|had) (a|an|the|its|their) \w+ (ask|be|begin|forget|make|pay|send|take)`,
	`is set of`,
	`nil (of|in) (a|an|all|none|other|those)`,
	`of none`,
	`[Aa]s long (it|the|they|a)`,
	`those of those`,
	`(nobody|somebody|whoever|everybody)`,
}, "|") + `)\b`)

// TestDocReadsOnce checks the sentences that go doc shows of public packages: none is
// long, and none has a turn that readers had to read twice.
func TestDocReadsOnce(t *testing.T) {
	own := all(t)
	var breaches []string
	for _, p := range own {
		if !p.public() {
			continue
		}
		files := token.NewFileSet()
		for _, name := range p.GoFiles {
			file := must.Get(parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution))(t)
			for _, c := range exportedDocs(file) {
				for _, s := range sentences(c.Text()) {
					at := fmt.Sprintf("%s/%s:%d", p.short(), name, files.Position(c.Pos()).Line)
					if n := len(strings.Fields(s)); n > longestSentence && !strings.HasPrefix(s, "Refusals") {
						breaches = append(breaches, fmt.Sprintf("%s: %d words: %s", at, n, s))
					}
					if turn := translated.FindString(s); turn != "" {
						breaches = append(breaches, fmt.Sprintf("%s: %q: %s", at, turn, s))
					}
				}
			}
		}
	}
	slices.Sort(breaches)
	for _, b := range breaches {
		t.Error(b)
	}
}

// exportedDocs returns the comments of a file that go doc -all prints.
func exportedDocs(file *ast.File) (docs []*ast.CommentGroup) {
	add := func(groups ...*ast.CommentGroup) {
		for _, c := range groups {
			if c != nil {
				docs = append(docs, c)
			}
		}
	}
	members := func(l *ast.FieldList) {
		if l == nil {
			return
		}
		for _, f := range l.List {
			if len(f.Names) == 0 || f.Names[0].IsExported() {
				add(f.Doc, f.Comment)
			}
		}
	}
	add(file.Doc)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiverName(d.Recv.List[0].Type).IsExported()) {
				add(d.Doc)
			}
		case *ast.GenDecl:
			shown := false
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					shown = true
					add(s.Doc)
					switch of := s.Type.(type) {
					case *ast.StructType:
						members(of.Fields)
					case *ast.InterfaceType:
						members(of.Methods)
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
						shown = true
						add(s.Doc, s.Comment)
					}
				}
			}
			if shown {
				add(d.Doc)
			}
		}
	}
	return docs
}

// receiverName returns the name of the type that a method is of.
func receiverName(t ast.Expr) *ast.Ident {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	}
	return t.(*ast.Ident)
}

var sentenceEnd = regexp.MustCompile(`[.!?]["”)]* `)

// sentences returns the sentences of a comment, without its lists and examples.
func sentences(text string) (all []string) {
	var p comment.Parser
	for _, block := range p.Parse(text).Content {
		paragraph, ok := block.(*comment.Paragraph)
		if !ok {
			continue
		}
		var pr comment.Printer
		flat := strings.Join(strings.Fields(string(pr.Text(&comment.Doc{Content: []comment.Block{paragraph}}))), " ")
		all = append(all, sentenceEnd.Split(flat, -1)...)
	}
	return all
}

func TestSentences(t *testing.T) {
	expect.Same(t, sentences("One is here. Two\nis there.\n\n\tcode\n\nThree."), []string{"One is here", "Two is there.", "Three."}, "sentences")
	for sentence, want := range map[string]bool{
		"Sandbox has Arkesel record the messages":      true,
		"It has the worker send the message":           true,
		"End is set of a coupon that repeats":          true,
		"Period is the line's; nil of all others":      true,
		"As long it waits for work":                    true,
		"An invoice has an open charge, and a record":  false,
		"The store has the record as long as it lives": false,
	} {
		expect.Equal(t, translated.MatchString(sentence), want, "%q is a riddle", sentence)
	}
}
