package types

import "time"

// TextTags has every key of strings.
type TextTags struct {
	A string `json:"a" jsonschema:"title=The A,description=It is a,example=x,example=y,default=x"`
	B string `json:"b" jsonschema:"minLength=2,maxLength=5,pattern=^[a-z]+$"`
	C string `json:"c" jsonschema:"format=email,readOnly=true"`
	D string `json:"d" jsonschema:"writeOnly=true,enum=one,enum=two,default=two"`
	E string `json:"e,omitempty" jsonschema:"required"`
	F string `json:"f" jsonschema:"pattern=^a{1\\,3}$"`
	G string `json:"g" jsonschema:"description=commas\\, escaped,nullable"`
	H string `json:"h" jsonschema_description:"by another tag"`
	// I has a comment as well.
	I string  `json:"i" jsonschema:"description=the tag wins" jsonschema_description:"over this"`
	J string  `json:"j" jsonschema:"pattern=a=b,default=a=b"`
	K string  `json:"k" jsonschema:"-"`
	L Label   `json:"l" jsonschema:"enum=p,enum=q"`
	M string  `json:"m" jsonschema_extras:"x-order=1,x-wide=true,x-list=a,x-list=b,x-list=c"`
	N string  `json:"n" jsonschema:"anchor=enn"`
	O *string `json:"o,omitempty" jsonschema:"minLength=1,nullable"`
	P string  `json:"p" jsonschema:"example=,default="`
}

// NumberTags has every key of numbers.
type NumberTags struct {
	A int     `json:"a" jsonschema:"minimum=1,maximum=10,default=5,example=2,example=3"`
	B int     `json:"b" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=100"`
	C float64 `json:"c" jsonschema:"multipleOf=0.5,minimum=-1.5e2"`
	D int     `json:"d" jsonschema:"enum=1,enum=2,title=Dee,description=a number"`
	E uint8   `json:"e" jsonschema:"maximum=200"`
	F float32 `json:"f" jsonschema:"default=1.25,enum=1.25,enum=2"`
	G *int    `json:"g" jsonschema:"minimum=0,nullable"`
	H bool    `json:"h" jsonschema:"default=true"`
	I bool    `json:"i" jsonschema:"default=false,title=Eye"`
	J int     `json:"j" jsonschema:"type=integer"`
	K int     `json:"k,omitempty" jsonschema:"required,minimum=3" jsonschema_extras:"minimum_x=4,deprecated=true"`
}

// ListTags has every key of lists.
type ListTags struct {
	A []string   `json:"a" jsonschema:"minItems=1,maxItems=4,uniqueItems=true,default=x,default=y"`
	B []string   `json:"b" jsonschema:"format=email,pattern=^.+@.+$,minLength=3,maxLength=30"`
	C []int      `json:"c" jsonschema:"minimum=1,maximum=9,example=3,enum=3,enum=4"`
	D []float64  `json:"d" jsonschema:"multipleOf=0.25"`
	E []bool     `json:"e" jsonschema:"minItems=2"`
	F [][]string `json:"f" jsonschema:"minItems=2"`
	G []string   `json:"g" jsonschema:"enum=p,enum=q,example=p,title=Gee"`
	H [2]string  `json:"h" jsonschema:"description=a pair"`
	I []Person   `json:"i" jsonschema:"maxItems=3"`
	J []any      `json:"j" jsonschema:"minItems=1"`
}

// OtherTags has keys of every type on objects and anything.
type OtherTags struct {
	A Person         `json:"a" jsonschema:"title=Ay,description=of a person"`
	B any            `json:"b" jsonschema:"oneof_type=string;integer"`
	C any            `json:"c" jsonschema:"anyof_type=number;null"`
	D any            `json:"d" jsonschema:"type=string,minLength=2"`
	E map[string]int `json:"e" jsonschema:"description=counts"`
	F struct {
		X int `json:"x"`
	} `json:"f" jsonschema:"title=Eff"`
	G *Person `json:"g" jsonschema:"nullable,description=perhaps"`
}

// Choice needs one of two.
type Choice struct {
	Mail  string `json:"mail,omitempty" jsonschema:"oneof_required=mail"`
	Phone string `json:"phone,omitempty" jsonschema:"oneof_required=phone"`
	Code  string `json:"code,omitempty" jsonschema:"oneof_required=phone,maxLength=3"`
	X     int    `json:"x,omitempty" jsonschema:"anyof_required=x"`
	Y     int    `json:"y,omitempty" jsonschema:"anyof_required=y,minimum=1"`
}

// Shapes refers to types by name.
type Shapes struct {
	One  any   `json:"one" jsonschema:"oneof_ref=#/$defs/Circle;#/$defs/Square"`
	Any  any   `json:"any" jsonschema:"anyof_ref=#/$defs/Circle"`
	List []any `json:"list" jsonschema:"oneof_ref=#/$defs/Square"`
}

// Circle is round.
type Circle struct {
	R float64 `json:"r"`
}

// Square is not.
type Square struct {
	Side float64 `json:"side"`
}

// Described follows go-sdk's convention.
type Described struct {
	A string `json:"a" jsonschema:"the name of the thing"`
	B int    `json:"b" jsonschema:"a count, of things"`
	// C has a comment.
	C bool `json:"c" jsonschema:"whether to count"`
}

// Ignored has tags that mean nothing to the Reflector.
type Ignored struct {
	A string    `json:"a" jsonschema:"minimum=3"`
	B int       `json:"b" jsonschema:"minLength=3,nonsense=4,alone"`
	C bool      `json:"c" jsonschema:"default=maybe,example=true,enum=true"`
	D string    `json:"d" jsonschema:"minLength=many,readOnly=perhaps"`
	E int       `json:"e" jsonschema:"minimum=low,maximum=1,default=x,enum=y"`
	F []int     `json:"f" jsonschema:"uniqueItems=false,minItems=x,default=1,default=2"`
	G []string  `json:"g" jsonschema:"pattern=a=b,enum=c=d"`
	H Labels    `json:"h" jsonschema:"minItems=3,description=kept"`
	I any       `json:"i" jsonschema:"minimum=3"`
	J float64   `json:"j" jsonschema:"minimum=1=2,default=3"`
	K string    `json:"k,omitempty" jsonschema:"description=a\\,required"`
	L string    `json:"l" jsonschema_extras:"minimum=5,minimum=6,flag,x-b=true,x-b=f"`
	M bool      `json:"m" jsonschema:"default=true=1"`
	N time.Time `json:"n" jsonschema:"minLength=1"`
}
