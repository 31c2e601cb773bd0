// Package verify compares the manifests that a running server was built from with reviewed ones.
package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/toollist"
)

// Reviewed is a manifest to compare with.
type Reviewed struct{ pkg, file, digest string }

// Load reads manifests: those of folders, in a git ref or the working tree, and files, whose names
// end with .json. Without arguments, it reads all folders.
func Load(ctx context.Context, ref string, args []string) ([]Reviewed, error) {
	if strings.HasSuffix(ref, ".json") {
		return nil, fmt.Errorf("--ref %s is a file: write it as an argument", ref)
	}
	sources := []policydiff.Source{{From: ref}} // of folders
	for _, arg := range args {
		if strings.HasSuffix(arg, ".json") {
			sources = append(sources, policydiff.Source{From: arg})
		} else {
			sources[0].Dirs = append(sources[0].Dirs, arg)
		}
	}
	if len(args) > 0 && sources[0].Dirs == nil {
		if ref != "" {
			return nil, errors.New("--ref is for folders: write one, such as ./..., or remove it")
		}
		sources = sources[1:]
	}
	var list []Reviewed
	files := map[string]string{} // by package
	for _, s := range sources {
		set, err := policydiff.Load(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, m := range set {
			if first, twice := files[m.Package]; twice {
				return nil, fmt.Errorf("%s and %s are both of package %q", first, m.File, m.Package)
			}
			files[m.Package] = m.File
			digest, err := document.Digest(m.Text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.File, err)
			}
			list = append(list, Reviewed{m.Package, m.File, digest})
		}
	}
	return list, nil
}

// Served is what the admin API of a server lists.
type Served struct {
	Items   []manifest `json:"items"`
	Adopted bool       `json:"adopted"`
}

type manifest struct {
	Package string `json:"package"`
	Digest  string `json:"digest"`
}

// The bounds of the response of the admin API.
const (
	maxManifests = 4 << 20 // in bytes
	maxPackages  = 10_000
)

// What a response may contain: verify prints it in lines of its own.
var (
	servedPackage = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~+/-]*$`)
	servedDigest  = regexp.MustCompile(`^(sha256:[0-9a-f]{64})?$`)
)

// Endpoint is the URL of the manifests in the admin API of a server.
func Endpoint(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("write an http or https URL with a host, and without a user, query " +
			"or fragment")
	}
	return u.JoinPath("api/v1/admin/mcp/manifests").String(), toollist.MaySend(u)
}

// Fetch reads which manifests a server was built from. It follows no redirect, so that the
// token reaches no other server.
func Fetch(ctx context.Context, endpoint, token string) (list Served, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return list, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	response, err := client.Do(r)
	if err != nil {
		return list, toollist.NetworkError(ctx, err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status == http.StatusOK:
	case status >= 300 && status < 400:
		return list, errors.New("the server redirects: write the URL that it redirects to, if you " +
			"trust it with the token")
	case status == http.StatusUnauthorized:
		return list, errors.New("the server does not accept the token: write a valid one")
	case status == http.StatusForbidden:
		return list, errors.New("the caller is no admin of the server: write the token of an admin")
	case status == http.StatusNotFound:
		return list, errors.New("the server has no list of manifests: write the URL without the path " +
			"of the MCP endpoint, set Options.Admin to the handler of package runtime/admin, or update " +
			"mcpgen in the server")
	default:
		return list, fmt.Errorf("the server returned the status %d: try again later", status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxManifests+1))
	if err != nil {
		return list, toollist.NetworkError(ctx, err)
	}
	if len(text) > maxManifests {
		return list, fmt.Errorf("the response has more than %d MiB", maxManifests>>20)
	}
	if json.Unmarshal(text, &list) != nil || list.Items == nil {
		return list, errors.New("the response is not that of an admin API: write the URL of the server")
	}
	if len(list.Items) > maxPackages {
		return list, fmt.Errorf("the response has more than %d packages", maxPackages)
	}
	for i, m := range list.Items {
		if !servedPackage.MatchString(m.Package) || !servedDigest.MatchString(m.Digest) {
			return list, fmt.Errorf("item %d of the response is no package with a digest: write the URL "+
				"of the server", i+1)
		}
	}
	return list, nil
}

// Equal is the code of a finding about a package that the server was built from.
const Equal = "equal"

// Compare returns a finding for each package of the server and of the source, in the order of the
// server. Findings that fail have the level report.Error.
func Compare(served Served, reviewed []Reviewed) (findings []report.Finding) {
	byPackage := map[string]Reviewed{}
	for _, m := range reviewed {
		byPackage[m.pkg] = m
	}
	add := func(f report.Finding, format string, args ...any) {
		f.Message = toollist.Line(fmt.Sprintf(format, args...))
		findings = append(findings, f)
	}
	const cure = "deploy what was reviewed, or review what runs"
	compared := map[string]bool{}
	for _, s := range served.Items {
		m, known := byPackage[s.Package]
		compared[s.Package] = true
		f := report.Finding{Level: report.Error, File: m.file, Cure: cure}
		switch {
		case !known:
			f.Code, f.Cure = "additional", "name the folder or file of its manifest, once reviewed"
			add(f, "the server serves package %s with digest %s, without a manifest here", s.Package,
				cmp.Or(s.Digest, "unknown"))
		case s.Digest == "":
			f.Code, f.Cure = "unknown", "run mcpgen for the package, and build the server again"
			add(f, "the server has no digest of package %s", s.Package)
		case s.Digest != m.digest:
			f.Code = "changed"
			add(f, "package %s has digest %s in the server, and %s in %s", s.Package, s.Digest, m.digest,
				m.file)
		default:
			add(report.Finding{Code: Equal, Level: report.Note, File: m.file},
				"package %s has digest %s", s.Package, s.Digest)
		}
	}
	for _, m := range reviewed {
		if !compared[m.pkg] {
			add(report.Finding{Code: "missing", Level: report.Error, File: m.file,
				Cure: "deploy it, or name only the folders of this server"},
				"the server does not serve package %s of %s", m.pkg, m.file)
		}
	}
	if served.Adopted {
		add(report.Finding{Code: "adopted", Level: report.Note},
			"the server also serves an adopted go-sdk server, which no manifest describes")
	}
	return findings
}
