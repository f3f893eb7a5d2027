package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/seed-7082ffec/payments/internal/must"
)

func TestPublishedFilesAreUpToDate(t *testing.T) {
	t.Chdir("../../httpapi")
	files := must.Get(generate())(t)
	for name, want := range files {
		got := must.Get(os.ReadFile(name))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("httpapi/%s differs from what is made of %s: run go generate ./httpapi", name, source)
		}
	}
}
