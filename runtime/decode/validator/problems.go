package validator

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// validate returns all problems of a document as an error.
func (c *contract) validate(doc any) error {
	err := c.root.Validate(doc)
	if err == nil {
		return nil
	}
	var refused *jsonschema.ValidationError
	if !errors.As(err, &refused) {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	r := report{contract: c, doc: doc}
	for _, leaf := range leaves(refused) {
		if len(r.problems) > enough {
			break
		}
		r.add(leaf)
	}
	return decode.NewError(r.problems)
}

// enough limits the problems that are collected before decode.NewError selects from them: every
// pointer takes memory, and a hostile document has as many problems as values.
const enough = 20 * decode.MaxProblems

// report turns the validator's tree of errors into problems.
type report struct {
	contract *contract
	doc      any
	problems []decode.Problem
}

// leaves returns the errors with a message: those below groups and references.
func leaves(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch v.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var found []*jsonschema.ValidationError
		for _, cause := range v.Causes {
			found = append(found, leaves(cause)...)
		}
		return found
	}
	return []*jsonschema.ValidationError{v}
}

func (r *report) add(v *jsonschema.ValidationError) {
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			r.about(v, name, "is required")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			r.about(v, name, "is required with "+decode.Show(literal(k.Prop)))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			r.about(v, name, r.unknown(v, name))
		}
	case *kind.FalseSchema:
		if strings.HasSuffix(v.SchemaURL, "/unevaluatedProperties") {
			r.problems = append(r.problems,
				decode.Problem{Pointer: pointer(v.InstanceLocation), Message: "unknown property"})
		} else {
			r.addProblem(v, describe(v, nil))
		}
	case *kind.Type:
		r.mistyped(v, k.Want)
	case *kind.PropertyNames:
		r.propertyName(v, k.Property)
	case *kind.AnyOf:
		r.alternatives(v)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			r.addProblem(v, decode.ManyMatchesMessage)
		} else {
			r.alternatives(v)
		}
	default:
		r.addProblem(v, describe(v, value(r.doc, v.InstanceLocation)))
	}
}

// addProblem adds a problem with the error's value.
func (r *report) addProblem(v *jsonschema.ValidationError, message string) {
	r.problems = append(r.problems, decode.NewProblem(pointer(v.InstanceLocation),
		literal(value(r.doc, v.InstanceLocation)), message))
}

// mistyped adds a problem with a value of the wrong type.
func (r *report) mistyped(v *jsonschema.ValidationError, want []string) {
	got := value(r.doc, v.InstanceLocation)
	text := describeType(got, want)
	if got == nil && r.contract.mayBeAbsent(v.InstanceLocation) {
		text += decode.OmitMessage
	}
	r.addProblem(v, text)
}

// about adds a problem with a property of the error's value.
func (r *report) about(v *jsonschema.ValidationError, name, message string) {
	at := decode.Pointer(pointer(v.InstanceLocation), name)
	r.problems = append(r.problems, decode.Problem{Pointer: at, Message: message})
}

func (r *report) propertyName(v *jsonschema.ValidationError, name string) {
	for _, cause := range v.Causes {
		for _, leaf := range leaves(cause) {
			r.about(v, name, "is not a valid name: it "+describe(leaf, name))
		}
	}
}

// alternatives reports a value that fits none of several forms, with the problems of the intended
// form if it can be identified.
func (r *report) alternatives(v *jsonschema.ValidationError) {
	var meant [][]*jsonschema.ValidationError
	var types []string
	onlyTypes := true
	for _, cause := range v.Causes {
		branch := leaves(cause)
		if !otherForm(v, branch) {
			meant = append(meant, branch)
		}
		k, ok := branch[0].ErrorKind.(*kind.Type)
		if ok && len(branch) == 1 && len(branch[0].InstanceLocation) == len(v.InstanceLocation) {
			types = append(types, k.Want...)
		} else {
			onlyTypes = false
		}
	}
	switch {
	case len(meant) == 1:
		for _, leaf := range meant[0] {
			r.add(leaf)
		}
	case onlyTypes && len(types) > 0:
		r.mistyped(v, types)
	default:
		r.addProblem(v, decode.NoMatchMessage)
	}
}

// otherForm reports whether a branch failed because of the value's type, or of another constant in
// a property that distinguishes the forms: the branch was not intended.
func otherForm(v *jsonschema.ValidationError, branch []*jsonschema.ValidationError) bool {
	for _, leaf := range branch {
		depth := len(leaf.InstanceLocation) - len(v.InstanceLocation)
		switch k := leaf.ErrorKind.(type) {
		case *kind.Type, *kind.FalseSchema:
			if depth == 0 {
				return true
			}
		case *kind.Const:
			if depth <= 1 {
				return true
			}
		case *kind.Enum:
			if depth == 0 || depth == 1 && len(k.Want) == 1 {
				return true
			}
		}
	}
	return false
}

// unknown describes a property that the object at v does not have.
func (r *report) unknown(v *jsonschema.ValidationError, name string) string {
	s := r.contract.at[v.SchemaURL]
	if s == nil {
		return "unknown property"
	}
	return decode.UnknownPropertyMessage(name, maps.Keys(s.Properties))
}

func pointer(path []string) string {
	p := ""
	for _, name := range path {
		p = decode.Pointer(p, name)
	}
	return p
}

// value returns the part of a document at a path.
func value(doc any, path []string) any {
	for _, name := range path {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			doc = v[i]
		default:
			return nil
		}
	}
	return doc
}
