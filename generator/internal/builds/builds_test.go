package builds

import (
	"fmt"
	"go/build"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	const all, some, none = "all", "some", "none"
	for _, tt := range []struct{ name, header, want string }{
		{"a.go", "", all},
		{"a.go", "\ufeff//go:build linux\n", some},
		{"a.go", "//go:build linux\r\n", some},
		{"a.go", "//go:build ignore\n", none},
		{"a.go", "//go:build !ignore\n", all},
		{"a.go", "//go:build ignore && linux\n", none},
		{"a.go", "//go:build ignore || linux\n", some},
		{"a.go", "//go:build extra\n", some},
		{"a.go", "//go:build extra || !extra\n", all},
		{"a.go", "//go:build extra && !extra\n", none},
		{"a.go", "//go:build linux && windows\n", none},
		{"a.go", "//go:build linux && unix\n", some},
		{"a.go", "//go:build windows && unix\n", none},
		{"a.go", "//go:build unix && !linux\n", some},
		{"a.go", "//go:build android && !linux\n", none},
		{"a.go", "//go:build amd64 && arm64\n", none},
		{"a.go", "//go:build linux && amd64\n", some},
		{"a.go", "//go:build gc || gccgo\n", all},
		{"a.go", "//go:build boringcrypto\n", some},
		{"a.go", "//go:build cgo\n", some},
		{"a.go", "//go:build go1.20\n", all},
		{"a.go", "//go:build !go1.20\n", none},
		{"a.go", "//go:build go1.99\n", some},
		{"a.go", "//go:build go1.99 && !go1.98\n", none},
		{"a.go", "//go:build a && b && c && d && e && f && g && h && i && j && k && ignore\n", some},
		{"a_linux.go", "", some},
		{"a_linux.go", "//go:build windows\n", none},
		{"a_linux_amd64.go", "//go:build !amd64\n", none},
		{"linux.go", "", all},
		{"a_other.go", "", all},

		// What go/build does not read is no constraint.
		{"a.go", "/* x */ //go:build linux\n", all},
		{"a.go", "/*\n//go:build linux\n*/\n", all},
		{"a.go", "/* x */\n//go:build linux\n", some},
		{"a.go", "// x //go:build linux\n", all},
		{"a.go", "// +build linux\n", some},
		{"a.go", "// +build linux windows\n// +build !linux,!windows\n", none},
		{"a.go", "// +build linux", all}, // it is the doc comment of the package
		{"a.go", "/* x */ // +build linux\n", all},
		{"a.go", "//go:build extra || !extra\n// +build linux\n", all},
		// The go command refuses such a file.
		{"a.go", "//go:build linux\n//go:build linux\n", some},
		{"a.go", "//go:build (\n", some},
	} {
		isAll, isSome := Of("dir/"+tt.name, []byte(tt.header+"\npackage p\n\n//go:build z\n"), "go1.26")
		got := map[[2]bool]string{{true, true}: all, {false, true}: some, {}: none}[[2]bool{isAll, isSome}]
		if got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.name, tt.header, got, tt.want)
		}
	}
	if all, _ := Of("a.go", []byte("//go:build go1.20\n\npackage p\n"), ""); all {
		t.Error("without a version, a build may have any release")
	}
}

// random is the header of a file.
func random(r *rand.Rand) string {
	tags := strings.Fields("linux windows android darwin unix amd64 arm64 cgo extra ignore go1.20 go1.27")
	tag := func() string {
		return []string{"", "", "!"}[r.IntN(3)] + tags[r.IntN(len(tags))]
	}
	var text strings.Builder
	for range r.IntN(4) {
		expr := tag() + []string{" && ", " || "}[r.IntN(2)] + tag()
		line := []string{"//go:build " + tag(), "//go:build " + expr, "// +build " + tag() + " " + tag(),
			"// a comment", "/*", "*/", "/* a */", ""}[r.IntN(8)]
		text.WriteString(line + []string{"\n", "\n", "\n\n", " "}[r.IntN(4)])
	}
	return text.String() + "\npackage p\n"
}

// No system has a file that no build has, and none lacks a file that all builds have.
func TestBuildsOfSystems(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 2))
	count := map[string]int{}
	for range 1000 {
		name := []string{"a.go", "a_linux.go", "a_arm64.go", "a_windows_amd64.go"}[r.IntN(4)]
		text := random(r)
		all, some := Of(name, []byte(text), "go1.26")
		count[fmt.Sprint(all, some)]++
		for _, system := range strings.Fields("linux windows android darwin ios plan9") {
			for set := range 16 {
				c := build.Context{GOOS: system, GOARCH: []string{"amd64", "arm64"}[set&1],
					CgoEnabled: set&2 != 0, Compiler: "gc", ReleaseTags: []string{"go1.20", "go1.26"}}
				if set&4 != 0 {
					c.BuildTags = []string{"extra"}
				}
				if set&8 != 0 {
					c.ReleaseTags = append(c.ReleaseTags, "go1.27")
				}
				c.OpenFile = opens([]byte(text))
				match, err := c.MatchFile("", name)
				if err == nil && (all && !match || match && !some) {
					t.Fatalf("%s on %s: %v, and all is %v, some is %v:\n%s", name, system, match, all,
						some, text)
				}
			}
		}
	}
	if len(count) != 3 || min(count["true true"], count["false false"]) < 20 {
		t.Errorf("the files are not of all kinds: %v", count)
	}
}
