package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/commandline"
)

// TestVerifySendsTheTokenToNoOtherServer and prints it nowhere.
func TestVerifySendsTheTokenToNoOtherServer(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	sent := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	code, out := verified(t, server.URL)
	if asked || sent != "Bearer t0psecret" || code != 2 ||
		!strings.Contains(out, "the server redirects") {
		t.Errorf("%t %q %d %s", asked, sent, code, out)
	}
}

// verified runs the command with a token against a manifest without tools.
func verified(t *testing.T, url string, args ...string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	manifest, token := filepath.Join(dir, "m.json"), filepath.Join(dir, "token")
	for file, text := range map[string]string{manifest: `{"manifest":2,"package":"p"}`,
		token: "t0psecret\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	code = run(t.Context(), append([]string{"verify", url, "--token-file", token, manifest}, args...),
		&b, &b)
	if strings.Contains(b.String(), "t0psecret") {
		t.Errorf("it prints the token: %s", &b)
	}
	return code, b.String()
}

// TestNetworkErrorsAreOneLine has a server whose certificate has names with control characters. The
// errors of TLS contain them.
func TestNetworkErrorsAreOneLine(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"a\x1b[2J\n::add-mask::prod\nequal: package p"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey,
		private)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{certificate}, PrivateKey: private}}}
	server.StartTLS()
	defer server.Close()
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	list := filepath.Join(t.TempDir(), "list.json")
	if err := os.WriteFile(list, []byte(`{"tools":[]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	_, out := verified(t, address)
	outs := []string{out}
	for _, args := range [][]string{{"import", address}, {"call", "--url", address},
		{"diff", "--lists", list, address}} {
		var b bytes.Buffer
		run(t.Context(), args, &b, &b)
		outs = append(outs, b.String())
	}
	for _, out := range outs {
		if !strings.Contains(out, `a\x1b[2J\n::add-mask`) || strings.Count(out, "\n") != 1 {
			t.Errorf("%q", out)
		}
	}
}

// TestTokensNeedTLS sends no token and no header to another machine in plain text.
func TestTokensNeedTLS(t *testing.T) {
	t.Setenv("TOKEN", "t0psecret")
	for _, test := range []struct {
		args    []string
		refused bool
	}{
		{[]string{"verify", "http://mcp.invalid", "--token-env", "TOKEN"}, true},
		{[]string{"verify", "http://localhost.invalid", "--token-env", "TOKEN"}, true},
		{[]string{"verify", "https://mcp.invalid", "--token-env", "TOKEN"}, false},
		{[]string{"verify", "http://localhost:1", "--token-env", "TOKEN"}, false},
		{[]string{"verify", "http://[::1]:1", "--token-env", "TOKEN"}, false},
		{[]string{"call", "--url", "http://mcp.invalid", "--token-env", "TOKEN"}, true},
		{[]string{"call", "--url", "http://127.0.0.1:1", "--token-env", "TOKEN"}, false},
		{[]string{"call", "--url", "http://mcp.invalid"}, false},
		{[]string{"import", "http://mcp.invalid", "--header", "X-Key: k"}, true},
		{[]string{"diff", "--lists", "-", "http://mcp.invalid", "--header", "X-Key: k"}, true},
	} {
		var b bytes.Buffer
		root := newRoot()
		root.SetIn(strings.NewReader(`{"tools":[]}`))
		code := commandline.Run(t.Context(), root, test.args, &b, &b)
		if code != 2 || strings.Contains(b.String(), "in plain text") != test.refused {
			t.Errorf("%v: %d %s", test.args, code, &b)
		}
	}
}
