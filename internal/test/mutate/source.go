package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is the module, and what is known of the packages that are mutated.
type source struct {
	root, module string
	files        *token.FileSet
	importer     types.Importer
	packages     map[string]*pkg // those of the module, by import path
	chosen       []*pkg
}

// pkg is a package as go list describes it.
type pkg struct {
	ImportPath, Name, Dir, Export                        string
	Standard                                             bool
	GoFiles, Imports                                     []string
	TestGoFiles, XTestGoFiles, TestImports, XTestImports []string
	Module                                               *struct{ Path, Dir string }
	short                                                string // its path in the module
	texts                                                map[string]*text
}

// text is a file of a mutated package.
type text struct {
	path    string
	content []byte
	sites   []*site // in the order of their beginnings, the outer one first
}

// load reads the packages, and checks their types. Patterns are those of go list.
func load(patterns []string, choose func(short string) bool) (*source, error) {
	s := &source{files: token.NewFileSet(), packages: map[string]*pkg{}}
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,Standard,GoFiles,Imports,TestGoFiles,XTestGoFiles,TestImports,XTestImports,Module"}, patterns...)
	list := exec.Command("go", args...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{texts: map[string]*text{}}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Standard || p.Module == nil || strings.Contains(p.Dir, string(filepath.Separator)+"mod"+string(filepath.Separator)) {
			continue
		}
		s.root, s.module = p.Module.Dir, p.Module.Path
		p.short = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, s.module), "/")
		if p.short == "" {
			p.short = p.Name
		}
		s.packages[p.ImportPath] = p
		if choose(p.short) {
			s.chosen = append(s.chosen, p)
		}
	}
	if len(s.chosen) == 0 {
		return nil, errors.New("no package of the module is chosen")
	}
	slices.SortFunc(s.chosen, func(a, b *pkg) int { return strings.Compare(a.short, b.short) })
	s.importer = importer.ForCompiler(s.files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range s.chosen {
		if err := s.find(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// find finds the mutants of a package.
func (s *source) find(p *pkg) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(s.files, path, content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.texts[name] = &text{path: path, content: content}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: s.importer}
	if _, err := config.Check(p.ImportPath, s.files, files, info); err != nil {
		return err
	}
	for i, name := range p.GoFiles {
		if aside.MatchString(name) {
			continue
		}
		f := finder{source: s, pkg: p, file: files[i], text: p.texts[name], info: info}
		f.find()
	}
	return nil
}

// check reports the type errors of a package's woven files, by file name and offset.
func (s *source) check(p *pkg, woven map[string][]byte) (broken map[string][]int, err error) {
	var files []*ast.File
	for name, content := range woven {
		file, err := parser.ParseFile(s.files, name, content, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	broken = map[string][]int{}
	config := types.Config{Importer: s.importer, Error: func(err error) {
		if e, ok := err.(types.Error); ok {
			at := s.files.Position(e.Pos)
			broken[at.Filename] = append(broken[at.Filename], at.Offset)
		}
	}}
	_, err = config.Check(p.ImportPath, s.files, files, nil)
	if len(broken) > 0 {
		err = nil
	}
	return broken, err
}

// testsOf returns the packages whose tests may reach p: p itself, then its faces, then those whose code or tests import
// it. Of these the money paths come first, since their tests ask for more than that a page is shown.
func (s *source) testsOf(p *pkg) (near []*pkg) {
	for _, q := range s.packages {
		tested := len(q.TestGoFiles)+len(q.XTestGoFiles) > 0
		imports := slices.Contains(slices.Concat(q.Imports, q.TestImports, q.XTestImports), p.ImportPath)
		if tested && (q == p || imports || slices.Contains(faces[p.short], q.short)) {
			near = append(near, q)
		}
	}
	rank := func(q *pkg) int {
		switch {
		case q == p:
			return 0
		case slices.Contains(faces[p.short], q.short):
			return 1
		case slices.Contains(moneyPaths, q.short):
			return 2
		}
		return 3
	}
	slices.SortFunc(near, func(a, b *pkg) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.short, b.short))
	})
	return near
}
