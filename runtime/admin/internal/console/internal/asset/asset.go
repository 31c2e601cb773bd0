// Package asset serves the style and the icon of the pages.
package asset

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed files
var files embed.FS

// asset is a file that never changes under its name, since its digest is in it.
type asset struct {
	name, kind string
	data       []byte
}

var (
	assets = map[string]asset{} // by the name with the digest
	paths  = map[string]string{}
)

func init() {
	for name, kind := range map[string]string{
		"console.css": "text/css; charset=utf-8", "icon.svg": mime.TypeByExtension(".svg"),
	} {
		data, err := files.ReadFile("files/" + name)
		if err != nil {
			panic(err) // it is compiled in
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
		assets[hashed] = asset{hashed, kind, data}
		paths[name] = "/console/assets/" + hashed
	}
}

// Path returns the address of a file of the pages.
func Path(name string) string { return paths[name] }

// Serve responds with the file of an address.
func Serve(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.data) // the browser may be gone
}
