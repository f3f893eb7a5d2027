package httpapi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// npm runs a script of testdata/typescript. Where its packages are not installed
// (npm ci does) the test is skipped, unless PAYMENTS_REQUIRE_NPM is set.
func npm(t *testing.T, script string, env ...string) string {
	t.Helper()
	folder := filepath.Join("testdata", "typescript")
	_, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	program, missing := exec.LookPath("npm")
	if err != nil || missing != nil {
		must.True(t, os.Getenv("PAYMENTS_REQUIRE_NPM") == "", "npm, or what npm ci installs in httpapi/%s, is not there", folder)
		t.Skipf("needs npm, and npm ci in httpapi/%s", folder)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "run", "--silent", script)
	command.Dir = folder
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = 5 * time.Second
	output, err := command.CombinedOutput()
	expect.True(t, err == nil, "npm run %s: %v\n%s", script, err, output)
	return string(output)
}

func TestDescriptionPassesLint(t *testing.T) {
	oneGoroutine(t)
	npm(t, "redocly")
	npm(t, "spectral")
}

// A client generated from the description type-checks against a program that
// uses every resource, and the program does what it should.
func TestTypeScriptClient(t *testing.T) {
	oneGoroutine(t)
	npm(t, "generate")
	npm(t, "build")
	if t.Failed() {
		return
	}
	s := paymentstest.New(t)
	output := npm(t, "use", "BASE_URL="+s.Server.URL, "API_KEY="+s.Key)
	expect.True(t, strings.Contains(output, "every resource was used"), "the program says %s", output)
}

// The program grows with the API.
func TestTypeScriptUsesEveryResource(t *testing.T) {
	program := must.Get(os.ReadFile(filepath.Join("testdata", "typescript", "use.ts")))(t)
	used := map[string]bool{"Hosted pages": true} // HTML, not for programs
	c := described(t)
	for _, o := range c.Operations() {
		if strings.Contains(string(program), `.`+o.Method+`("`+o.Path+`"`) {
			used[o.Tags[0]] = true
		}
	}
	for _, tag := range c.Doc.Tags {
		expect.True(t, used[tag.Name], "use.ts uses nothing of %s", tag.Name)
	}
}
