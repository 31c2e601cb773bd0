package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// odd are texts that have gone wrong somewhere.
var odd = []string{
	"plain", "", " ", " x", "x ", "two words", "größe", "世界", "\U0001F600", "a\x00b", "a\nb", "a\tb", "\xff", "\ufeffx", "x\u202ey", "a\u00a0b", "a\u200bb",
	`'; DROP TABLE teams; --`, `"quoted"`, `back\slash`, "%s", "$1", "?", "NULL", "<b>&amp;</b>", "\u2028", strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("&", 256),
	strings.Repeat("ö", 128), strings.Repeat("ö", 129),
}

// fits says in its own words which names are taken.
func fits(name string) bool {
	if name == "" || len(name) > 256 || !utf8.ValidString(name) || strings.Trim(name, " ") != name {
		return false
	}
	for _, r := range name {
		if r != ' ' && !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// named gives things of every kind a name, and takes them away again. It returns what is wrong.
func named(t testing.TB, s *store.Store, name string) error {
	ctx := t.Context()
	want := fits(name)
	o, err := s.CreateOrg(ctx, name, ada)
	if (err == nil) != want || err != nil && !errors.Is(err, store.ErrInvalid) {
		return fmt.Errorf("organization %q: %w", name, err)
	}
	if err != nil {
		if _, err := s.CreateCatalog(ctx, store.Global, name, "", true, ada); !errors.Is(err, store.ErrInvalid) {
			return fmt.Errorf("catalog %q: %w", name, err)
		}
		if found, err := s.ActiveCatalogs(ctx, name, store.Global); len(found) != 0 || err != nil {
			return fmt.Errorf("%v of %q: %w", found, name, err)
		}
		return nil
	}
	defer func() { must(0, s.DeleteOrg(ctx, o.ID, 0, ada)) }()
	in := store.InOrg(o.ID)
	team, err := s.CreateTeam(ctx, o.ID, name, ada)
	if err != nil {
		return err
	}
	c, err := s.CreateCatalog(ctx, in, name, name, true, ada)
	if err != nil {
		return err
	}
	m, err := s.AddMember(ctx, in, name, name, access.Lead, ada)
	if err != nil {
		return err
	}
	if got := must(s.Org(ctx, o.ID)).Name; got != name {
		return fmt.Errorf("organization %q is kept as %q", name, got)
	}
	if got := must(s.Team(ctx, in, team.ID)).Name; got != name {
		return fmt.Errorf("team %q is kept as %q", name, got)
	}
	if got := must(s.Memberships(ctx, name, name)); len(got) != 1 || got[0] != m || got[0].Subject != name {
		return fmt.Errorf("member %q is kept as %+v", name, got)
	}
	if got := must(s.ActiveCatalogs(ctx, name, in)); len(got) != 1 || got[0] != c || got[0].Name != name || got[0].Description != name {
		return fmt.Errorf("catalog %q is kept as %+v", name, got)
	}
	return nil
}

func TestNamesAreKeptAsTheyAreOrRefused(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		for _, name := range odd {
			if err := named(t, s, name); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, name := range odd {
		f.Add(name)
	}
	url := engines["sqlite"](f)
	s := hasty(f, open(f, url), url)
	f.Fuzz(func(t *testing.T, name string) {
		if err := named(t, s, name); err != nil {
			t.Error(err)
		}
		// What a caller sends is asked for as it comes.
		if _, err := s.Memberships(t.Context(), name, name); err != nil {
			t.Error(err)
		}
		if _, _, err := s.Entries(t.Context(), store.Global, 1, store.Page[string]{After: name}); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestWhatIsAskedForMayBeAnything(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		c := must(s.CreateCatalog(t.Context(), store.Global, "kit", "", true, ada))
		for _, text := range odd {
			if got, err := s.Memberships(t.Context(), text, text); len(got) != 0 || err != nil {
				t.Errorf("%q: %v, %v", text, got, err)
			}
			if got, err := s.ActiveCatalogs(t.Context(), text, store.Global); len(got) != 0 || err != nil {
				t.Errorf("%q: %v, %v", text, got, err)
			}
			if got, _, err := s.Entries(t.Context(), store.Global, c.ID, store.Page[string]{After: text}); len(got) != 0 || err != nil {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		}
	})
}

func TestToolNamesAreThoseThatToolsCanHave(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		c := must(s.CreateCatalog(t.Context(), store.Global, "kit", "", true, ada))
		for _, name := range []string{"a", "A.b_c-9", strings.Repeat("x", 128)} {
			must(s.AddEntry(t.Context(), store.Global, c.ID, name, "", ada))
			if err := s.SwitchTool(t.Context(), name, true, ada); err != nil {
				t.Error(err)
			}
			if err := s.RemoveEntry(t.Context(), store.Global, c.ID, name, ada); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{"", "a b", "a/b", "größe", "a\x00", "a\n", strings.Repeat("x", 129)} {
			for _, err := range []error{
				func() error { _, err := s.AddEntry(t.Context(), store.Global, c.ID, name, "", ada); return err }(),
				s.RemoveEntry(t.Context(), store.Global, c.ID, name, ada), s.SwitchTool(t.Context(), name, true, ada),
			} {
				if !errors.Is(err, store.ErrInvalid) {
					t.Errorf("%q: %v", name, err)
				}
			}
		}
	})
}

func TestTextsThatDoNotFitAreRefused(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		o := must(s.CreateOrg(ctx, "org", ada))
		c := must(s.CreateCatalog(ctx, store.Global, "kit", strings.Repeat("x", store.MaxDescription), true, ada))
		long, bad, none := strings.Repeat("x", store.MaxDescription+1), "a\x00b", ""
		var errs []error
		add := func(_ any, err error) { errs = append(errs, err) }
		for _, text := range []string{long, bad, "\xff"} {
			add(s.CreateCatalog(ctx, store.Global, "other", text, true, ada))
			add(s.UpdateCatalog(ctx, store.Global, c.ID, 1, store.CatalogPatch{Description: &text}, ada))
			add(s.AddEntry(ctx, store.Global, c.ID, "tool", text, ada))
			add(s.AddMember(ctx, store.InOrg(o.ID), text, "bob", access.Lead, ada))
			add(s.AddMember(ctx, store.InOrg(o.ID), "", text, access.Lead, ada))
			add(s.RenameOrg(ctx, o.ID, 1, text, ada))
			add(s.CreateTeam(ctx, o.ID, text, ada))
			add(s.RenameTeam(ctx, store.Anywhere, 1, 1, text, ada))
		}
		add(s.AddMember(ctx, store.InOrg(o.ID), "", none, access.Lead, ada))
		add(s.UpdateCatalog(ctx, store.Global, c.ID, 1, store.CatalogPatch{Name: &none}, ada))
		for _, standing := range []access.Standing{"", "Owner", "king"} {
			add(s.AddMember(ctx, store.InOrg(o.ID), "", "bob", standing, ada))
			add(s.UpdateMember(ctx, store.Anywhere, 1, 1, standing, ada))
		}
		for i, err := range errs {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%d: %v", i, err)
			}
		}
		// The largest announcement there can be.
		must(s.AddMember(ctx, store.InOrg(o.ID), strings.Repeat("&", store.MaxIdentity), strings.Repeat("&", store.MaxIdentity), access.Lead, ada))
	})
}
