package oidc_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

func TestClaimsOfAJWTArePassedOn(t *testing.T) {
	id := read(t, oidc.Claims{}, "department", "radio", "realm_access", map[string]any{"roles": []string{"Admin"}})
	if id.Scheme != "JWT" || id.Claims["iss"] != issuerURL || id.Claims["sub"] != "ada" || id.Claims["department"] != "radio" ||
		!reflect.DeepEqual(id.Claims["realm_access"], map[string]any{"roles": []any{"Admin"}}) {
		t.Errorf("%s, %v", id.Scheme, id.Claims)
	}
	// Their content decides nothing by itself.
	if id.Principal.Roles != nil || id.Principal.Groups != nil {
		t.Errorf("%+v", id)
	}
}

func TestAnswerAboutAnOpaqueTokenIsPassedOnWithoutTheToken(t *testing.T) {
	p := newProvider()
	s := p.source(t, asking(p, active("jti", "opaque-0123456789", "department", "radio"), func(n *oidc.Introspection) { n.Cache = time.Minute }))
	r, err := http.NewRequest(http.MethodPost, resource, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // fetched, and cached
		r.Header.Set("Authorization", "Bearer opaque-0123456789")
		id, err := s.Identify(r)
		if err != nil || id.Scheme != "introspection" || id.Claims["department"] != "radio" || id.Claims["active"] != true {
			t.Errorf("%+v, %v", id, err)
		}
		if text := encode(id.Claims); strings.Contains(text, "opaque-0123456789") {
			t.Errorf("the token: %s", text)
		}
	}
	if got := p.count("/introspect"); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

func TestRememberedAnswersAreSharedAndNotCopied(t *testing.T) {
	p := newProvider()
	s := p.source(t, asking(p, active(), func(n *oidc.Introspection) { n.Cache = time.Minute }))
	first, err := s.Verify(t.Context(), "opaque")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Verify(t.Context(), "opaque")
	if err != nil || reflect.ValueOf(first.Claims).Pointer() != reflect.ValueOf(again.Claims).Pointer() {
		t.Errorf("%v", err)
	}
}
