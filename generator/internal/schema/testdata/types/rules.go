package types

import (
	"encoding/json"
	"math/big"
	"net"
	"net/url"
)

// Each type shows one rule.
type (
	RuleAny struct {
		V any `json:"v"`
	}
	RuleDefault struct {
		A int `json:"a" jsonschema:"default=5"`
	}
	RuleText struct {
		T Text `json:"t"`
	}
	RuleNumber struct {
		N json.Number `json:"n"`
	}
	RuleBig struct {
		B *big.Int `json:"b"`
	}
	RuleURL struct {
		U url.URL `json:"u"`
	}
	RuleIP struct {
		IP net.IP `json:"ip"`
	}
	RuleOctets struct {
		O []Octet `json:"o"`
	}
	RuleNamed struct {
		L Labels `json:"l" jsonschema:"minItems=3"`
	}
	RuleWhole struct {
		L []string `json:"l" jsonschema:"pattern=a=b"`
	}
	RuleTyped struct {
		L []int `json:"l" jsonschema:"default=1,default=2"`
		B bool  `json:"b" jsonschema:"example=true,readOnly=true"`
	}
	RuleUnique struct {
		L []int `json:"l" jsonschema:"uniqueItems=false"`
	}
	RuleDeclared struct {
		O Opaque `json:"o" jsonschema:"type=string,minLength=1"`
	}
)

// RuleNarrow has an enum beyond its constants.
type RuleNarrow struct {
	S Status   `json:"s" jsonschema:"enum=active,enum=broken"`
	L []Status `json:"l" jsonschema:"enum=offline"`
}

// Opaque decides on its JSON itself.
type Opaque struct{ s string }

// MarshalJSON writes it.
func (o Opaque) MarshalJSON() ([]byte, error) { return json.Marshal(o.s) }

// UnmarshalJSON reads it.
func (o *Opaque) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &o.s) }
