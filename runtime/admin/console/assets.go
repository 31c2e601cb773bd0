package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that never changes under its name, since its digest is in it.
type asset struct {
	name, kind string
	data       []byte
}

var (
	assets     = map[string]asset{} // by the name with the digest
	assetPaths = map[string]string{}
)

func init() {
	for name, kind := range map[string]string{"console.css": "text/css; charset=utf-8", "icon.svg": mime.TypeByExtension(".svg")} {
		data, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is compiled in
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
		assets[hashed] = asset{hashed, kind, data}
		assetPaths[name] = "/console/assets/" + hashed
	}
}

// asset serves a file of the pages, to those who sign in as well as to those who have.
func (v *visit) asset() error {
	a, ok := assets[v.r.PathValue("file")]
	if !ok {
		http.NotFound(v.w, v.r)
		return nil
	}
	h := v.w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = v.w.Write(a.data) // the browser may be gone
	return nil
}
