package stubs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// Limits of a document.
const (
	maxBytes  = 32 << 20
	maxValues = 2_000_000 // with what YAML aliases repeat
	maxLevels = 500
)

// Load reads an OpenAPI document of 3.0 or 3.1, in JSON or YAML. It reads no other file and no URL.
func Load(path string) (*openapi3.T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxBytes>>20)
	}
	doc, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

func parse(text []byte) (*openapi3.T, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, oneLine(err)
	}
	if _, err := values(&root, map[*yaml.Node]int{}, 0); err != nil {
		return nil, err
	}
	var head struct {
		OpenAPI string `yaml:"openapi"`
		Swagger string `yaml:"swagger"`
	}
	switch err := root.Decode(&head); {
	case err != nil || head.OpenAPI == "" && head.Swagger == "":
		return nil, errors.New("not an OpenAPI document: it has no member openapi")
	case head.OpenAPI == "":
		return nil, errors.New("swagger 2.0 is not supported: convert the document to OpenAPI 3")
	case !strings.HasPrefix(head.OpenAPI, "3.0.") && !strings.HasPrefix(head.OpenAPI, "3.1."):
		return nil, fmt.Errorf("OpenAPI %+q is not supported: use 3.0 or 3.1", head.OpenAPI)
	}
	var whole any
	if err := root.Decode(&whole); err != nil {
		return nil, oneLine(err)
	}
	whole = plain(whole)
	if err := (&references{whole, map[string]int{}}).check(whole); err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	var outside *openapi3.DisallowedExternalRefError
	if errors.As(err, &outside) {
		return nil, fmt.Errorf("$ref %+q is outside the document: bundle all files into one",
			outside.Ref)
	}
	if err != nil {
		return nil, oneLine(err)
	}
	return doc, nil
}

// values counts the values of a document, with those that aliases repeat.
func values(n *yaml.Node, done map[*yaml.Node]int, level int) (int, error) {
	if count, known := done[n]; known {
		if count == 0 {
			return 0, errors.New("a YAML alias contains itself")
		}
		return count, nil
	}
	if level > maxLevels {
		return 0, fmt.Errorf("the document has more than %d levels", maxLevels)
	}
	done[n] = 0
	count := 1
	children := n.Content
	if n.Kind == yaml.AliasNode {
		children = []*yaml.Node{n.Alias}
	}
	for _, child := range children {
		more, err := values(child, done, level+1)
		if err != nil {
			return 0, err
		}
		if count += more; count > maxValues {
			return 0, fmt.Errorf("the document has more than %d values", maxValues)
		}
	}
	done[n] = count
	return count, nil
}

// oneLine is an error with the texts of a document in it, made safe for a terminal.
func oneLine(err error) error {
	quoted := fmt.Sprintf("%+q", strings.Join(strings.Fields(err.Error()), " "))
	text := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	return errors.New(text)
}
