package validator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// contract is a compiled schema with its analysis. It does not change after compile.
type contract struct {
	root *jsonschema.Schema
	// at contains schemas by the location in a validator's error.
	at map[string]*jsonschema.Schema
	// defaults contains the schemas from which a default can be reached.
	defaults map[*jsonschema.Schema]bool
}

// location is the address of a compiler's only document. Nothing is loaded from it.
const location = "mcpgen:///schema"

func compile(schema string) (*contract, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	for _, format := range formats {
		compiler.RegisterFormat(&format)
	}
	if err := compiler.AddResource(location, doc); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	root, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	c := &contract{root: root, at: map[string]*jsonschema.Schema{},
		defaults: map[*jsonschema.Schema]bool{}}
	c.collect(root)
	for at, s := range c.at {
		if s.DraftVersion != 2020 {
			return nil, fmt.Errorf("the schema cannot be used: %s is not of draft 2020-12", at)
		}
	}
	if err := c.checkDefaults(); err != nil {
		return nil, err
	}
	c.findDefaults()
	return c, nil
}

// noLoader keeps a $ref from opening files or connections.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema must not refer to other documents")
}

// collect visits every schema once.
func (c *contract) collect(s *jsonschema.Schema) {
	if c.at[s.Location] != nil {
		return
	}
	c.at[s.Location] = s
	for child := range children(s) {
		c.collect(child)
	}
	if s.PropertyNames != nil {
		// The validator overwrites the location of these errors.
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
}

// propertyNames is the keyword of that name.
type propertyNames struct{ schema *jsonschema.Schema }

// Validate reports the names of an object that the schema refuses.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name := range object {
		var refused *jsonschema.ValidationError
		if errors.As(p.schema.Validate(name), &refused) {
			ctx.AddErrors(refused.Causes, &kind.PropertyNames{Property: name})
		}
	}
}

// checkDefaults returns an error if a schema refuses its own default.
func (c *contract) checkDefaults() error {
	for _, at := range slices.Sorted(maps.Keys(c.at)) {
		s := c.at[at]
		if s.Default != nil && s.Validate(*s.Default) != nil {
			return fmt.Errorf("the schema cannot be used: the default at %s does not match its schema",
				strings.TrimPrefix(at, location))
		}
	}
	return nil
}

// findDefaults marks the schemas from which a default can be reached, references and cycles
// included.
func (c *contract) findDefaults() {
	for grown := true; grown; {
		grown = false
		for _, s := range c.at {
			if c.defaults[s] {
				continue
			}
			for child := range children(s) {
				if child.Default != nil || c.defaults[child] {
					c.defaults[s] = true
					grown = true
					break
				}
			}
		}
	}
}

// children yields the schemas that s applies to its value or to parts of it.
func children(s *jsonschema.Schema) func(func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		single := []*jsonschema.Schema{
			s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
			s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
		}
		if s.DynamicRef != nil {
			single = append(single, s.DynamicRef.Ref)
		}
		if additional, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			single = append(single, additional)
		}
		for _, list := range [][]*jsonschema.Schema{single, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
			for _, child := range list {
				if child != nil && !yield(child) {
					return
				}
			}
		}
		for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
			for _, child := range named {
				if !yield(child) {
					return
				}
			}
		}
		for _, child := range s.PatternProperties {
			if !yield(child) {
				return
			}
		}
	}
}
