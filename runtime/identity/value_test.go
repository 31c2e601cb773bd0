package identity_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

const hidden = "opaque.of-a_visitor"

// Printers reach unexported fields as well, where no method is called.
func TestValuesShowAMask(t *testing.T) {
	type inner struct {
		Identity identity.Identity
		token    identity.Token
		value    *identity.Value
	}
	token := identity.NewToken(hidden)
	for name, v := range map[string]identity.Value{
		"token": identity.NewValue(token), "string": identity.NewValue(hidden),
		"bytes":  identity.NewValue([]byte(hidden)),
		"struct": identity.NewValue(struct{ Key string }{hidden}, hidden),
	} {
		if v.IsZero() || !reflect.DeepEqual(v.Secrets(), []string{hidden}) {
			t.Errorf("%s: %v", name, len(v.Secrets()))
		}
		id := identity.Identity{Principal: access.Principal{Subject: "ada"}, Value: v}
		var out bytes.Buffer
		for _, held := range []any{id, &id, v, &v, token, &token, []identity.Token{token},
			map[string]any{"a": v}, inner{id, token, &v}, &inner{id, token, &v}} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
				fmt.Fprintf(&out, verb, held)
			}
			fmt.Fprintln(&out, held)
			text, err := json.Marshal(held)
			if err != nil {
				t.Errorf("%s: %T: %v", name, held, err)
			}
			out.Write(text)
			_ = xml.NewEncoder(&out).Encode(held) // of some it has no form
			_ = gob.NewEncoder(&out).Encode(held)
			slog.New(slog.NewTextHandler(&out, nil)).Info("is", "held", held)
			slog.New(slog.NewJSONHandler(&out, nil)).Info("is", "held", held)
		}
		shown := out.String()
		for _, form := range []string{hidden, fmt.Sprintf("%x", hidden),
			fmt.Sprint([]byte(hidden))} {
			if strings.Contains(shown, strings.Trim(form, "[]")) {
				t.Errorf("%s shows as %s", name, form)
			}
		}
		if !strings.Contains(shown, "***MASKED***") {
			t.Errorf("%s: no mask: %.200s", name, shown)
		}
	}
	if token.Reveal() != hidden || identity.NewValue(token).Content().(identity.Token).Reveal() != hidden {
		t.Error("the token is lost")
	}
	var none identity.Value
	if !none.IsZero() || none.Content() != nil || none.Secrets() != nil ||
		(identity.Token{}).Reveal() != "" {
		t.Error("the zero values hold something")
	}
}

func TestSecretsOfAValueAreItsOwn(t *testing.T) {
	given := []string{"first", "second"}
	v := identity.NewValue(7, given...)
	given[0] = "changed"
	got := v.Secrets()
	if !slices.Equal(got, []string{"first", "second"}) {
		t.Error(got)
	}
	if got[0] = "changed"; v.Secrets()[0] != "first" {
		t.Error("a caller changes them")
	}
}

func TestBearerKeepsTheTokenIfConfigured(t *testing.T) {
	own := identity.NewValue("of the verifier")
	for _, test := range []struct {
		value   identity.Value
		options []identity.BearerOption
		want    any
	}{
		{identity.Value{}, nil, nil},
		{identity.Value{}, []identity.BearerOption{identity.KeepToken()}, hidden},
		{own, []identity.BearerOption{identity.KeepToken()}, "of the verifier"},
		{own, nil, "of the verifier"},
	} {
		source := identity.Bearer(func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Subject: "ada"},
				Value: test.value}, nil
		}, test.options...)
		id, err := source.Identify(request("Bearer " + hidden))
		got := id.Value.Content()
		if token, ok := got.(identity.Token); ok {
			got = token.Reveal()
		}
		if err != nil || got != test.want {
			t.Errorf("%v, %v, want %v", got, err, test.want)
		}
	}
}
