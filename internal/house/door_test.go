package house_test

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/must"
)

// TestOneDoor checks that hosts cannot reach what only sibling packages may call. Of a
// public package, New, Kinds and the type Internal with its methods alone may name a type
// of internal/ or a transaction of the store. The packages of storage may name its
// transactions, which are their own.
func TestOneDoor(t *testing.T) {
	own, every := all(t)
	exports := map[string]string{}
	for _, p := range every {
		exports[p.ImportPath] = p.Export
	}
	gc := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var breaches []string
	for _, p := range own {
		if !p.public() {
			continue
		}
		loaded := must.Get(gc.Import(p.ImportPath))(t)
		breaches = append(breaches, doors(loaded, strings.HasPrefix(p.short(), "storage"))...)
	}
	slices.Sort(breaches)
	compare(t, "doors.txt", "hosts see it; it belongs on the package's Internal", slices.Compact(breaches))
}

// doors returns what a package exports that names what hosts must not see.
func doors(p *types.Package, storage bool) (breaches []string) {
	note := func(what string, of types.Type) {
		for _, name := range hidden(of, storage) {
			breaches = append(breaches, fmt.Sprintf("%s.%s names %s", short(p.Path()), what, name))
		}
	}
	scope := p.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() || name == "New" || name == "Kinds" || name == "Internal" {
			continue
		}
		declared, ok := o.(*types.TypeName)
		if !ok {
			note(name, o.Type())
			continue
		}
		if alias, ok := o.Type().(*types.Alias); ok {
			note(name, alias.Rhs())
			continue
		}
		switch under := declared.Type().Underlying().(type) {
		case *types.Struct:
			for f := range under.Fields() {
				if f.Exported() {
					note(name+"."+f.Name(), f.Type())
				}
			}
		case *types.Interface:
			for m := range under.Methods() {
				if m.Exported() {
					note(name+"."+m.Name(), m.Type())
				}
			}
			continue
		default:
			note(name, under)
		}
		// Those that a field without a name brings count where hosts cannot name its type.
		for m := range types.NewMethodSet(types.NewPointer(declared.Type())).Methods() {
			f := m.Obj().(*types.Func)
			if f.Exported() && (len(m.Index()) == 1 || !receiver(f).Exported()) {
				note(name+"."+f.Name(), f.Type())
			}
		}
	}
	return breaches
}

// receiver is the type that has the method.
func receiver(f *types.Func) types.Object {
	of := f.Signature().Recv().Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	if named, ok := of.(*types.Named); ok {
		return named.Obj()
	}
	return f // of an interface without a name
}

// hidden returns the types that a type is written with and hosts must not see.
func hidden(of types.Type, storage bool) (names []string) {
	var walk func(types.Type)
	object := func(o *types.TypeName) {
		if o.Pkg() == nil {
			return
		}
		path := o.Pkg().Path()
		if strings.HasPrefix(path, module+"/internal/") ||
			!storage && path == module+"/storage" && (o.Name() == "Tx" || o.Name() == "ReadTx") {
			names = append(names, short(path)+"."+o.Name())
		}
	}
	walk = func(of types.Type) {
		switch of := of.(type) {
		case *types.Alias:
			object(of.Obj())
			for arg := range of.TypeArgs().Types() {
				walk(arg)
			}
		case *types.Named:
			object(of.Obj())
			for arg := range of.TypeArgs().Types() {
				walk(arg)
			}
		case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
			if m, ok := of.(*types.Map); ok {
				walk(m.Key())
			}
			walk(of.Elem())
		case *types.Signature:
			for p := range of.TypeParams().TypeParams() {
				walk(p.Constraint())
			}
			walk(of.Params())
			walk(of.Results())
		case *types.Tuple:
			for v := range of.Variables() {
				walk(v.Type())
			}
		case *types.Struct:
			for f := range of.Fields() {
				walk(f.Type())
			}
		case *types.Interface:
			for m := range of.ExplicitMethods() {
				walk(m.Type())
			}
			for e := range of.EmbeddedTypes() {
				walk(e)
			}
		case *types.Union:
			for term := range of.Terms() {
				walk(term.Type())
			}
		}
	}
	walk(of)
	return names
}
