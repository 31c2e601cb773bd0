package redact_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// drawn is a secret that a number stands for: of 28 letters and digits, as those of secrets are.
func drawn(seed uint64) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	out := []byte("z7")
	for len(out) < 28 {
		seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's, MMIX
		out = append(out, alphabet[(seed>>33)%uint64(len(alphabet))])
	}
	return string(out)
}

// FuzzNoPathLetsASecretOut plants a secret by its name and by its form into whatever stands around
// it, and looks for it behind each way through the package.
func FuzzNoPathLetsASecretOut(f *testing.F) {
	for i := range forms {
		f.Add("x ", "name", " y", uint8(i), uint64(i))
	}
	names := []string{"GITHUB_TOKEN", "monkey", "client-secret", "Db.Password", "aws_credentials", "API_KEY", "apikey", "CONNECTION_STRING", "ConnectionString", "private", "X-Auth", "MYSQL_PWD", "sentry_dsn", "Cookie", "sessionId"}
	f.Fuzz(func(t *testing.T, before, name, after string, form uint8, seed uint64) {
		secret := drawn(seed)
		if strings.Contains(before+name+after, secret[:20]) {
			return
		}
		text := before + "\n" + fmt.Sprintf(forms[int(form)%len(forms)], secret) + "\n" + after
		secretName := names[int(form)%len(names)]
		alone := strings.TrimSpace(text[len(before):])
		out := map[string]string{
			"Text":          redact.Text(text),
			"Value":         redact.Value(name, text),
			"Value by name": redact.Value(secretName, before+secret+after),
			"Header":        fmt.Sprint(redact.Header(http.Header{secretName: {before + secret + after}, "X": {text}})),
			"Query":         redact.Query(url.QueryEscape(name) + "=" + url.QueryEscape(alone) + "&" + url.QueryEscape(secretName) + "=" + url.QueryEscape(before+secret+after)),
			"Query of URL":  redact.Query("u=" + url.QueryEscape("https://x/?"+url.QueryEscape(secretName)+"="+secret)),
			"Any": fmt.Sprint(redact.Any(map[string]any{name: text, secretName: []any{secret}, "list": []string{text}, "of": map[string]string{secretName: secret, text: "a"},
				"deep": []any{struct{ Error error }{errors.New(text)}, account{User: text, Password: secret}, shy{secret}, []byte(text)}})),
			"Handler": logged(func(log *slog.Logger) {
				log.With(name, text, secretName, secret).WithGroup(name).Error(text, "error", errors.New(text), "value", lazy{slog.GroupValue(slog.Any(secretName, []string{secret}), slog.Any("x", account{User: text, Password: secret}))})
				log.WithGroup(secretName).Info("m", "x", secret)
			}),
		}
		for way, shown := range out {
			if strings.Contains(shown, secret) {
				t.Errorf("%s of %q shows the secret: %q", way, text, shown)
			}
		}
	})
}
