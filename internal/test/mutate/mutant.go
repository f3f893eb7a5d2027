package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of mutants.
const (
	bound      = "bound"      // a < b becomes a <= b
	equality   = "equality"   // a == b becomes a != b
	arithmetic = "arithmetic" // a + b becomes a - b, of integers
	connective = "connective" // a && b becomes a || b
	negation   = "negation"   // !a becomes a
	number     = "number"     // a constant becomes one more
	check      = "check"      // a condition for a refusal never holds
	call       = "call"       // a write or a check that returns an error is not made
)

// mutant is one change of the source.
type mutant struct {
	id            string
	pkg           *pkg
	number        int // by which the woven program knows it
	kind          string
	file          string // its path in the module
	line          int
	before, after string
	broken        bool // it does not compile
}

// site is an expression or a statement that mutants replace.
type site struct {
	from, to int    // offsets in the file
	result   string // the expression's type; empty for a statement
	mutants  []*mutant
}

// finder finds the mutants of a file.
type finder struct {
	*source
	pkg   *pkg
	file  *ast.File
	text  *text
	info  *types.Info
	count map[string]int // of mutants, by the beginning of their ids
	sites map[[2]int]*site
	in    string // the function
}

func (f *finder) find() {
	f.count, f.sites = map[string]int{}, map[[2]int]*site{}
	for _, d := range f.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || asideFuncs.MatchString(fn.Name.Name) {
			continue
		}
		f.in = fn.Name.Name
		if fn.Recv != nil {
			f.in = receiver(fn.Recv.List[0].Type) + "." + f.in
		}
		ast.Inspect(fn.Body, f.visit)
	}
	for _, s := range f.sites {
		f.text.sites = append(f.text.sites, s)
	}
	slices.SortFunc(f.text.sites, func(a, b *site) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// visit makes the mutants of a node. It reports whether those below it may be mutated, too.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		if f.larger(n) {
			return false
		}
		if f.refuses(n.Body.List) && !f.comparesError(n.Cond) {
			f.add(n.Cond, check, "false")
		}
	case *ast.SwitchStmt:
		for _, s := range n.Body.List {
			if c := s.(*ast.CaseClause); n.Tag == nil && len(c.List) == 1 && f.refuses(c.Body) && !f.comparesError(c.List[0]) {
				f.add(c.List[0], check, "false")
			}
		}
	case *ast.ForStmt:
		if n.Post != nil { // a loop that counts fails loudly, or never ends
			ast.Inspect(n.Body, f.visit)
			return false
		}
	case *ast.AssignStmt:
		f.assignment(n)
	case *ast.CompositeLit:
		return !isError(f.info.TypeOf(n))
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n, negation, f.of(n.X))
		}
	case *ast.BinaryExpr:
		return f.binary(n)
	case *ast.CallExpr:
		return f.call(n)
	}
	if e, ok := n.(ast.Expr); ok && f.info.Types[e].Value != nil {
		return false
	}
	return true
}

// larger reports whether the statement sets a to b if b is larger, or smaller: if they are equal it changes nothing.
func (f *finder) larger(n *ast.IfStmt) bool {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || len(n.Body.List) != 1 || n.Else != nil {
		return false
	}
	set, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || set.Tok != token.ASSIGN || len(set.Lhs) != 1 || len(set.Rhs) != 1 {
		return false
	}
	a, b, to, value := f.of(cond.X), f.of(cond.Y), f.of(set.Lhs[0]), f.of(set.Rhs[0])
	return a == to && b == value || a == value && b == to
}

// refuses reports whether the statements end with an error.
func (f *finder) refuses(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	last, ok := body[len(body)-1].(*ast.ReturnStmt)
	if !ok || len(last.Results) == 0 {
		return false
	}
	e := last.Results[len(last.Results)-1]
	t := f.info.Types[e]
	return t.Type != nil && !t.IsNil() && types.Implements(t.Type, errorType.Underlying().(*types.Interface))
}

var errorType = types.Universe.Lookup("error").Type()

// comparesError reports whether the expression compares an error with nil, or with another error.
func (f *finder) comparesError(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && (types.Identical(f.info.TypeOf(b.X), errorType) || types.Identical(f.info.TypeOf(b.Y), errorType))
}

// isError reports whether a type is an error of the interface's face, as *api.Error is.
func isError(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Error"
}

func isInteger(t types.Type) bool {
	if named, ok := t.(*types.Named); ok && named.Obj().Name() == "Duration" {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0 && b.Info()&types.IsUntyped == 0
}

// opposite are the operators that take the place of others.
var opposite = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
}

func (f *finder) binary(n *ast.BinaryExpr) bool {
	if f.info.Types[n].Value != nil || f.comparesError(n) {
		return false
	}
	kind, x := "", f.of(n.X)
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		kind = bound
	case token.EQL, token.NEQ:
		if f.info.Types[n.X].IsNil() || f.info.Types[n.Y].IsNil() {
			return true // what follows would use the nil, so that any test finds it
		}
		kind = equality
	case token.LAND, token.LOR:
		if f.comparesError(n.X) || f.comparesError(n.Y) {
			return true // what is beside an error has no meaning
		}
		kind = connective
		if in, ok := n.X.(*ast.BinaryExpr); ok && in.Op == token.LOR {
			x = "(" + x + ")"
		}
	case token.ADD, token.SUB, token.MUL, token.QUO:
		if isInteger(f.info.TypeOf(n)) {
			kind = arithmetic
		}
	}
	if kind == "" {
		return true
	}
	f.add(n, kind, x+" "+opposite[n.Op].String()+" "+f.of(n.Y))
	for _, operand := range []ast.Expr{n.X, n.Y} {
		t := f.info.Types[operand]
		literal, _ := operand.(*ast.BasicLit)
		if kind == connective || t.Value == nil || t.Value.Kind() != constant.Int || !isInteger(t.Type) || literal != nil && literal.Kind == token.CHAR {
			continue
		}
		after := "(" + f.of(operand) + " + 1)"
		if literal != nil {
			after = constant.BinaryOp(t.Value, token.ADD, constant.MakeInt64(1)).ExactString()
		}
		f.add(operand, number, after)
	}
	return true
}

// statements makes the mutants of statements that stand in a block, and not in the head of an if or a for.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IncDecStmt:
			if isInteger(f.info.TypeOf(s.X)) {
				f.addStatement(s, arithmetic, f.of(s.X)+opposite[s.Tok].String())
			}
		case *ast.AssignStmt:
			if op, ok := opposite[s.Tok]; ok && isInteger(f.info.TypeOf(s.Lhs[0])) {
				f.addStatement(s, arithmetic, f.of(s.Lhs[0])+" "+op.String()+" "+f.of(s.Rhs[0]))
			}
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok && f.writes(c) {
				f.addStatement(s, call, "")
			}
		}
	}
}

// assignment drops a call whose values are all left out but the error.
func (f *finder) assignment(n *ast.AssignStmt) {
	if len(n.Rhs) != 1 || len(n.Lhs) < 2 {
		return
	}
	c, ok := n.Rhs[0].(*ast.CallExpr)
	if !ok || !f.own(c) {
		return
	}
	for _, to := range n.Lhs[:len(n.Lhs)-1] {
		if name, ok := to.(*ast.Ident); !ok || name.Name != "_" {
			return
		}
	}
	results, ok := f.info.TypeOf(c).(*types.Tuple)
	if !ok || !types.Identical(results.At(results.Len()-1).Type(), errorType) {
		return
	}
	var zeros []string
	for v := range results.Variables() {
		zeros = append(zeros, "*new("+f.typeName(v.Type())+")")
	}
	f.add(c, call, strings.Join(zeros, ", "))
}

// callee returns the function or method of the module that is called, or nil.
func (f *finder) callee(c *ast.CallExpr) *types.Func {
	fun := ast.Unparen(c.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return nil
	}
	fn, _ := f.info.Uses[name].(*types.Func)
	return fn
}

func (f *finder) own(c *ast.CallExpr) bool {
	fn := f.callee(c)
	return fn != nil && fn.Pkg() != nil && strings.HasPrefix(fn.Pkg().Path()+"/", f.module+"/")
}

// writes reports whether a call without a result takes a transaction: it changes what is stored.
func (f *finder) writes(c *ast.CallExpr) bool {
	if t, ok := f.info.TypeOf(c).(*types.Tuple); !ok || t.Len() > 0 || !f.own(c) {
		return false
	}
	return slices.ContainsFunc(c.Args, func(a ast.Expr) bool {
		p, ok := f.info.TypeOf(a).(*types.Pointer)
		if !ok {
			return false
		}
		named, ok := p.Elem().(*types.Named)
		return ok && named.Obj().Name() == "Tx"
	})
}

// call drops a call that returns an error alone, and moves the bound of a comparison of times. It leaves a call that
// takes a function, as a transaction is: what is in the function has mutants of its own.
func (f *finder) call(n *ast.CallExpr) bool {
	t := f.info.TypeOf(n)
	if isError(t) {
		return false
	}
	fn := f.callee(n)
	if fn == nil || fn.Pkg() == nil {
		name, _ := n.Fun.(*ast.Ident)
		return name == nil || name.Name != "make" && name.Name != "panic"
	}
	switch path := fn.Pkg().Path(); {
	case path == "fmt", path == "errors" && fn.Name() != "Is", path == "log/slog":
		return false
	case path == "time" && len(n.Args) == 1 && (fn.Name() == "Before" || fn.Name() == "After"):
		other := map[string]string{"Before": "After", "After": "Before"}[fn.Name()]
		f.add(n, bound, "!"+f.of(n.Fun.(*ast.SelectorExpr).X)+"."+other+"("+f.of(n.Args[0])+")")
	case len(n.Args) > 0 && isFunc(n.Args[len(n.Args)-1]):
	case types.Identical(t, errorType) && f.own(n):
		f.add(n, call, "nil")
	}
	return true
}

func isFunc(e ast.Expr) bool {
	_, ok := e.(*ast.FuncLit)
	return ok
}

// of returns the text of a node.
func (f *finder) of(n ast.Node) string {
	return string(f.text.content[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.files.Position(p).Offset }

// typeName returns a type as the file may write it.
func (f *finder) typeName(t types.Type) string {
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == f.pkg.ImportPath {
			return ""
		}
		for _, i := range f.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() && i.Name != nil {
				return i.Name.Name
			}
		}
		return p.Name()
	})
}

func (f *finder) add(e ast.Expr, kind, after string) {
	t := f.info.TypeOf(e)
	result := ""
	if tuple, ok := t.(*types.Tuple); ok {
		var all []string
		for v := range tuple.Variables() {
			all = append(all, f.typeName(v.Type()))
		}
		result = "(" + strings.Join(all, ", ") + ")"
	} else {
		result = f.typeName(t)
	}
	f.insert(e, result, kind, after)
}

func (f *finder) addStatement(s ast.Stmt, kind, after string) { f.insert(s, "", kind, after) }

func (f *finder) insert(n ast.Node, result, kind, after string) {
	at := [2]int{f.offset(n.Pos()), f.offset(n.End())}
	s := f.sites[at]
	if s == nil {
		s = &site{from: at[0], to: at[1], result: result}
		f.sites[at] = s
	}
	file := filepath.ToSlash(f.text.path[len(f.root)+1:])
	id := fmt.Sprintf("%s:%s:%s", file, f.in, kind)
	f.count[id]++
	s.mutants = append(s.mutants, &mutant{
		id: fmt.Sprintf("%s:%d", id, f.count[id]), pkg: f.pkg, kind: kind, file: file,
		line: f.files.Position(n.Pos()).Line, before: f.of(n), after: after,
	})
}
