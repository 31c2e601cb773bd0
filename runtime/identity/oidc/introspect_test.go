package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

const ownSecret = "s3cret of/ours+"

// asking sets introspection up; what the provider answers about any token is answer's.
func asking(p *provider, answer func() string, change ...func(*oidc.Introspection)) func(*oidc.Options) {
	p.answers["/introspect"] = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer()) }
	return issuer(func(i *oidc.Issuer) {
		i.Introspection = &oidc.Introspection{ClientID: "rs", ClientSecret: ownSecret}
		for _, c := range change {
			c(i.Introspection)
		}
	})
}

// active is a provider's response for an active token, with changes.
func active(changes ...any) func() string {
	return func() string {
		return encode(claims(append([]any{"active", true, "token_type", "Bearer"}, changes...)...))
	}
}

func TestOpaqueTokensAreIntrospected(t *testing.T) {
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	missing := func(n *oidc.Introspection) { n.AllowMissingAudience = true }
	client := func(n *oidc.Introspection) { n.ClientSubject = true }
	for name, test := range map[string]struct {
		answer func() string
		change func(*oidc.Introspection)
		want   string
	}{
		"active":                     {active(), nil, "holds"},
		"of type access_token":       {active("token_type", "access_token"), nil, "holds"},
		"without issuer":             {active("iss", nil), nil, "holds"},
		"without type":               {active("token_type", nil), nil, "holds"},
		"without end":                {active("exp", nil), nil, "holds"},
		"not active":                 {func() string { return `{"active":false}` }, nil, "invalid"},
		"active as a word":           {active("active", "true"), nil, "unavailable"},
		"active as a number":         {active("active", 1), nil, "unavailable"},
		"without active":             {active("active", nil), nil, "unavailable"},
		"active twice":               {func() string { return `{"active":false,"active":true}` }, nil, "unavailable"},
		"Active":                     {active("active", nil, "Active", true), nil, "unavailable"},
		"nothing":                    {func() string { return "" }, nil, "unavailable"},
		"no object":                  {func() string { return "true" }, nil, "unavailable"},
		"another issuer":             {active("iss", "https://evil.example"), nil, "invalid"},
		"an issuer of another type":  {active("iss", 1), nil, "invalid"},
		"another audience":           {active("aud", "https://other.example"), nil, "invalid"},
		"no audience":                {active("aud", nil), nil, "invalid"},
		"no audience, allowed":       {active("aud", nil), missing, "holds"},
		"another audience, not that": {active("aud", "https://other.example"), missing, "invalid"},
		"no audience, access_token":  {active("aud", nil, "token_type", "access_token"), missing, "holds"},
		"a refresh token":            {active("aud", nil, "token_type", nil), missing, "invalid"},
		"called a refresh token":     {active("aud", nil, "token_type", "refresh_token"), missing, "invalid"},
		"a null audience":            {func() string { return strings.Replace(active("aud", nil)(), "{", `{"aud":null,`, 1) }, missing, "invalid"},
		"no subject":                 {active("sub", nil), nil, "invalid"},
		"no subject, the client's":   {active("sub", nil), client, "holds"},
		"neither":                    {active("sub", nil, "client_id", nil), client, "invalid"},
		"a subject of another type":  {active("sub", 1), client, "invalid"},
		"expired":                    {active("exp", at(-time.Hour)), nil, "invalid"},
		"not before":                 {active("nbf", at(time.Hour)), nil, "invalid"},
		"bound":                      {active("cnf", map[string]any{}), nil, "invalid"},
		"of type DPoP":               {active("token_type", "DPoP"), nil, "invalid"},
		"of a type that is none":     {active("token_type", 1), nil, "invalid"},
	} {
		p := newProvider()
		change := func(*oidc.Introspection) {}
		if test.change != nil {
			change = test.change
		}
		s := p.source(t, asking(p, test.answer, change))
		if got := verified(t, s, "opaque"); got != test.want {
			_, err := s.Verify(t.Context(), "opaque")
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestOpaqueTokensWithoutASubjectAreTheClientsOwn(t *testing.T) {
	p := newProvider()
	var answer func() string
	s := p.source(t, asking(p, func() string { return answer() }, func(n *oidc.Introspection) { n.ClientSubject = true }))
	for sub, own := range map[any]bool{nil: true, "cli": true, "ada": false} {
		answer = active("sub", sub)
		if id, err := s.Verify(t.Context(), "opaque"); err != nil || id.ClientItself != own || id.Principal.Client != "cli" {
			t.Errorf("%v: %+v, %v", sub, id, err)
		}
	}
}

func TestIntrospectionShowsOneTokenToOneServer(t *testing.T) {
	for method, want := range map[oidc.Method]string{oidc.Basic: "cnM6czNjcmV0K29mJTJGb3VycyUyQg==", oidc.Post: "s3cret of/ours+"} {
		p := newProvider()
		s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.Method = method }))
		p.answers["/introspect"] = func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.FormValue("token") != "opaque" || r.URL.RawQuery != "" || r.Header.Get("Accept") != "application/json" {
				t.Errorf("%s %s %v", r.Method, r.URL, r.Form)
			}
			sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
			if method == oidc.Post {
				sent = r.PostFormValue("client_secret")
			}
			if sent != want {
				t.Errorf("method %d sends %q", method, sent)
			}
			fmt.Fprint(w, active()())
		}
		if got := verified(t, s, "opaque"); got != "holds" {
			t.Error(got)
		}
		// What looks like a JWT is none of the provider's business, whether it holds or not.
		for _, jwt := range []string{token(), token("exp", 1), other(), "e30.e30.", b64([]byte(`{"alg":"none"}`)) + ".a.b"} {
			verified(t, s, jwt)
		}
		if n := p.count("/introspect"); n != 1 {
			t.Errorf("%d questions", n)
		}
	}
}

func TestIntrospectionThatFailsIsUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		want  string
		setup func(*provider)
	}{
		"refused": {"ClientSecret", func(p *provider) {
			p.answers["/introspect"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }
		}},
		"an error": {"answered 500", func(p *provider) {
			p.answers["/introspect"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
		}},
		"a redirect": {"answered 307", func(p *provider) {
			p.answers["/introspect"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusTemporaryRedirect) }
		}},
		"a panic":     {"panicked", func(p *provider) { p.answers["/introspect"] = func(http.ResponseWriter, *http.Request) { panic("x") } }},
		"down":        {"connection refused", func(p *provider) { p.down = true }},
		"no endpoint": {"set Introspection.URL", func(p *provider) { delete(p.metadata, "introspection_endpoint") }},
	} {
		p := newProvider()
		s := p.source(t, asking(p, active()))
		test.setup(p)
		_, err := s.Verify(t.Context(), "opaque-token-value")
		if err == nil || errors.Is(err, identity.ErrInvalidToken) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, secret := range []string{"opaque-token-value", "s3cret"} {
			if strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("%s: the error shows a secret: %v", name, err)
			}
		}
		if name == "no endpoint" && s.Fetch(t.Context()) == nil {
			t.Error("Fetch says nothing about the missing endpoint")
		}
	}
}

func TestAnswersAreRememberedForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		holds := true
		s := p.source(t, asking(p, func() string {
			if !holds {
				return `{"active":false}`
			}
			return active("exp", time.Now().Add(40*time.Second).Unix())()
		}, func(n *oidc.Introspection) { n.Cache, n.URL = time.Minute, issuerURL+"/introspect" }))
		for range 3 {
			if got := verified(t, s, "opaque"); got != "holds" {
				t.Fatal(got)
			}
			time.Sleep(20 * time.Second)
		}
		if n := p.count("/introspect"); n != 1 {
			t.Errorf("%d questions", n)
		}
		if got := verified(t, s, "another"); got != "holds" || p.count("/introspect") != 2 {
			t.Errorf("another token: %s", got)
		}
		time.Sleep(11 * time.Second) // 71 s: the token has ended, leeway included
		holds = false
		if got := verified(t, s, "opaque"); got != "invalid" || p.count("/introspect") != 3 {
			t.Errorf("after its end: %s", got)
		}
		if got := verified(t, s, "opaque"); got != "invalid" || p.count("/introspect") != 4 {
			t.Errorf("a refusal was remembered: %s", got)
		}
	})
}

// A token in use is introspected again as well: its revocation must end its use.
func TestRememberedAnswersDoNotLastLongerByUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		holds := true
		s := p.source(t, asking(p, func() string {
			if !holds {
				return `{"active":false}`
			}
			return active()()
		}, func(n *oidc.Introspection) { n.Cache, n.URL = time.Minute, issuerURL+"/introspect" }))
		if got := verified(t, s, "opaque"); got != "holds" {
			t.Fatal(got)
		}
		holds = false
		for second := 1; second < 60; second++ {
			time.Sleep(time.Second)
			if got := verified(t, s, "opaque"); got != "holds" {
				t.Fatalf("after %d s: %s", second, got)
			}
		}
		time.Sleep(time.Second)
		if got := verified(t, s, "opaque"); got != "invalid" || p.count("/introspect") != 2 {
			t.Errorf("after a minute of use: %s, asked %d times", got, p.count("/introspect"))
		}
	})
}

func TestWithoutACacheEachRequestQueries(t *testing.T) {
	p := newProvider()
	s := p.source(t, asking(p, active()))
	for range 3 {
		verified(t, s, "opaque")
	}
	if n := p.count("/introspect"); n != 3 {
		t.Errorf("%d questions", n)
	}
}

func TestMemoryOfAnswersIsBounded(t *testing.T) {
	p := newProvider()
	s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.Cache = oidc.MaxCache }))
	for i := range 4200 {
		if got := verified(t, s, fmt.Sprint("opaque", i)); got != "holds" {
			t.Fatal(got)
		}
	}
	if n := s.Remembered(); n != 4096 {
		t.Errorf("%d answers", n)
	}
}

// Anybody can send what looks like a token: what waits on behalf of those who sent some is bounded,
// ends with them, and refuses who comes then at once.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.URL = issuerURL + "/introspect" }))
		p.gate = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		var refused atomic.Int32
		for i := range 1000 {
			wait.Go(func() {
				if _, err := s.Verify(ctx, fmt.Sprint("opaque", i)); err == nil || isInvalid(err) {
					t.Errorf("%v", err)
				} else if strings.Contains(err.Error(), "too many introspection requests are waiting: find "+
					"out why the server is slow, or which client sends so many tokens") {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := refused.Load(); n != 1000-8*32 || s.Questions() != 8*32 || p.count("/introspect") != 32 {
			t.Errorf("%d refused at once, %d questions, %d asked", n, s.Questions(), p.count("/introspect"))
		}
		leave()
		wait.Wait()
		synctest.Wait()
		if s.Questions() != 0 {
			t.Errorf("%d questions outlive all who asked", s.Questions())
		}
		close(p.gate)
		if got := verified(t, s, "opaque1"); got != "holds" {
			t.Errorf("a token once the others have gone: %s", got)
		}
	})
}

// A caller who leaves takes the response from no other caller who came with the same token.
func TestQuestionsEndWithTheLastWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.URL = issuerURL + "/introspect" }))
		p.gate = make(chan struct{})
		first, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := s.Verify(first, "opaque"); !errors.Is(err, context.Canceled) {
				t.Errorf("who left: %v", err)
			}
		})
		synctest.Wait()
		wait.Go(func() {
			if got := verified(t, s, "opaque"); got != "holds" {
				t.Errorf("who stayed: %s", got)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(p.gate)
		wait.Wait()
		if n := p.count("/introspect"); n != 1 || s.Questions() != 0 {
			t.Errorf("%d asked, %d open", n, s.Questions())
		}
	})
}

func TestQuestionsAtATimeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.URL = issuerURL + "/introspect" }))
		p.gate = make(chan struct{})
		var wait sync.WaitGroup
		for i := range 100 {
			wait.Go(func() { verified(t, s, fmt.Sprint("opaque", i%50)) })
		}
		synctest.Wait()
		if n := p.count("/introspect"); n != 32 {
			t.Errorf("%d questions at a time", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Verify(ctx, "one more"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		wait.Wait() // by the time limit of each question
		close(p.gate)
		synctest.Wait()
	})
}
