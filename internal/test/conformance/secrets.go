package conformance

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// HidesSecrets checks that no print and no log line shows the secrets: of an adapter's configuration,
// or of a struct with it in an exported field, and of the client made from it, wherever it stands.
// fmt prints unexported fields without asking their methods, so a configuration cannot hide there.
func HidesSecrets(t *testing.T, secrets []string, config, client any) {
	t.Helper()
	for _, v := range []any{
		config, &config,
		struct{ Of any }{config},
		map[string]any{"of": config},
		client, &client,
		struct{ Of any }{client},
		struct{ of any }{client},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			_, _ = fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("made", "of", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("made", "of", v)
		for _, secret := range secrets {
			if strings.Contains(out.String(), secret) || strings.Contains(out.String(), fmt.Sprintf("%x", secret)) {
				t.Errorf("a print of %T shows a secret:\n%s", v, out.String())
			}
		}
	}
}
