package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func TestPublishedFilesAreUpToDate(t *testing.T) {
	t.Chdir("../../httpapi")
	files := must.Get(generate())(t)
	for name, want := range files {
		got := must.Get(os.ReadFile(name))(t)
		expect.True(t, bytes.Equal(got, want), "httpapi/%s differs from what is made of %s: run go generate ./httpapi", name, source)
	}
}
