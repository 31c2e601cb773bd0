package corpus

import (
	"encoding/json"
	"time"

	"github.com/mcpgen/mcpgen/generator/testdata/corpus/far"
)

// Grammar is every key of the jsonschema tag on every kind of field, where it means something and
// where it does not, with the tags that stand beside it.
type Grammar struct {
	Str       OnStr
	Int       OnInt
	Uint      OnUint
	Float     OnFloat
	Bool      OnBool
	Strs      OnStrs
	Ints      OnInts
	Floats    OnFloats
	Bools     OnBools
	Things    OnThings
	Lists     OnLists
	Map       OnMap
	Any       OnAny
	Struct    OnStruct
	Ptr       OnPtr
	StrPtr    OnStrPtr
	NamedStr  OnNamedStr
	NamedInt  OnNamedInt
	NamedList OnNamedList
	NamedMap  OnNamedMap
	Bytes     OnBytes
	Time      OnTime
	Array     OnArray
	Raw       OnRaw
	Number    OnNumber
	Generic   OnGeneric
	Level     OnLevel
}

type (
	// OnStr has every key on string.
	OnStr struct {
		F00 string `json:"f00" jsonschema:"title=A title"`
		F01 string `json:"f01" jsonschema:"description=says\\, what"`
		F02 string `json:"f02" jsonschema:"type=string"`
		F03 string `json:"f03" jsonschema:"type=integer"`
		F04 string `json:"f04" jsonschema:"anchor=a1"`
		F05 string `json:"f05" jsonschema:"oneof_required=g"`
		F06 string `json:"f06" jsonschema:"anyof_required=g"`
		F07 string `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 string `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 string `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 string `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 string `json:"f11" jsonschema:"nullable"`
		F12 string `json:"f12" jsonschema:"required"`
		F13 string `json:"f13" jsonschema:"minLength=1"`
		F14 string `json:"f14" jsonschema:"maxLength=9"`
		F15 string `json:"f15" jsonschema:"pattern=^a"`
		F16 string `json:"f16" jsonschema:"format=email"`
		F17 string `json:"f17" jsonschema:"readOnly=true"`
		F18 string `json:"f18" jsonschema:"writeOnly=true"`
		F19 string `json:"f19" jsonschema:"default=1"`
		F20 string `json:"f20" jsonschema:"default=true"`
		F21 string `json:"f21" jsonschema:"default=x"`
		F22 string `json:"f22" jsonschema:"example=1"`
		F23 string `json:"f23" jsonschema:"example=x,example=true"`
		F24 string `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 string `json:"f25" jsonschema:"enum=x"`
		F26 string `json:"f26" jsonschema:"multipleOf=3"`
		F27 string `json:"f27" jsonschema:"minimum=0"`
		F28 string `json:"f28" jsonschema:"maximum=9"`
		F29 string `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 string `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 string `json:"f31" jsonschema:"minItems=1"`
		F32 string `json:"f32" jsonschema:"maxItems=2"`
		F33 string `json:"f33" jsonschema:"uniqueItems=true"`
		F34 string `json:"f34" jsonschema:"uniqueItems=false"`
		F35 string `json:"f35" jsonschema:"-"`
		F36 string `json:"f36" jsonschema:"plain text"`
		F37 string `json:"f37" jsonschema:"unknown=1"`
		D   string `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E string `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnInt has every key on int.
	OnInt struct {
		F00 int `json:"f00" jsonschema:"title=A title"`
		F01 int `json:"f01" jsonschema:"description=says\\, what"`
		F02 int `json:"f02" jsonschema:"type=string"`
		F03 int `json:"f03" jsonschema:"type=integer"`
		F04 int `json:"f04" jsonschema:"anchor=a1"`
		F05 int `json:"f05" jsonschema:"oneof_required=g"`
		F06 int `json:"f06" jsonschema:"anyof_required=g"`
		F07 int `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 int `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 int `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 int `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 int `json:"f11" jsonschema:"nullable"`
		F12 int `json:"f12" jsonschema:"required"`
		F13 int `json:"f13" jsonschema:"minLength=1"`
		F14 int `json:"f14" jsonschema:"maxLength=9"`
		F15 int `json:"f15" jsonschema:"pattern=^a"`
		F16 int `json:"f16" jsonschema:"format=email"`
		F17 int `json:"f17" jsonschema:"readOnly=true"`
		F18 int `json:"f18" jsonschema:"writeOnly=true"`
		F19 int `json:"f19" jsonschema:"default=1"`
		F20 int `json:"f20" jsonschema:"default=true"`
		F21 int `json:"f21" jsonschema:"default=x"`
		F22 int `json:"f22" jsonschema:"example=1"`
		F23 int `json:"f23" jsonschema:"example=x,example=true"`
		F24 int `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 int `json:"f25" jsonschema:"enum=x"`
		F26 int `json:"f26" jsonschema:"multipleOf=3"`
		F27 int `json:"f27" jsonschema:"minimum=0"`
		F28 int `json:"f28" jsonschema:"maximum=9"`
		F29 int `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 int `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 int `json:"f31" jsonschema:"minItems=1"`
		F32 int `json:"f32" jsonschema:"maxItems=2"`
		F33 int `json:"f33" jsonschema:"uniqueItems=true"`
		F34 int `json:"f34" jsonschema:"uniqueItems=false"`
		F35 int `json:"f35" jsonschema:"-"`
		F36 int `json:"f36" jsonschema:"plain text"`
		F37 int `json:"f37" jsonschema:"unknown=1"`
		D   int `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E int `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnUint has every key on uint8.
	OnUint struct {
		F00 uint8 `json:"f00" jsonschema:"title=A title"`
		F01 uint8 `json:"f01" jsonschema:"description=says\\, what"`
		F02 uint8 `json:"f02" jsonschema:"type=string"`
		F03 uint8 `json:"f03" jsonschema:"type=integer"`
		F04 uint8 `json:"f04" jsonschema:"anchor=a1"`
		F05 uint8 `json:"f05" jsonschema:"oneof_required=g"`
		F06 uint8 `json:"f06" jsonschema:"anyof_required=g"`
		F07 uint8 `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 uint8 `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 uint8 `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 uint8 `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 uint8 `json:"f11" jsonschema:"nullable"`
		F12 uint8 `json:"f12" jsonschema:"required"`
		F13 uint8 `json:"f13" jsonschema:"minLength=1"`
		F14 uint8 `json:"f14" jsonschema:"maxLength=9"`
		F15 uint8 `json:"f15" jsonschema:"pattern=^a"`
		F16 uint8 `json:"f16" jsonschema:"format=email"`
		F17 uint8 `json:"f17" jsonschema:"readOnly=true"`
		F18 uint8 `json:"f18" jsonschema:"writeOnly=true"`
		F19 uint8 `json:"f19" jsonschema:"default=1"`
		F20 uint8 `json:"f20" jsonschema:"default=true"`
		F21 uint8 `json:"f21" jsonschema:"default=x"`
		F22 uint8 `json:"f22" jsonschema:"example=1"`
		F23 uint8 `json:"f23" jsonschema:"example=x,example=true"`
		F24 uint8 `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 uint8 `json:"f25" jsonschema:"enum=x"`
		F26 uint8 `json:"f26" jsonschema:"multipleOf=3"`
		F27 uint8 `json:"f27" jsonschema:"minimum=0"`
		F28 uint8 `json:"f28" jsonschema:"maximum=9"`
		F29 uint8 `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 uint8 `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 uint8 `json:"f31" jsonschema:"minItems=1"`
		F32 uint8 `json:"f32" jsonschema:"maxItems=2"`
		F33 uint8 `json:"f33" jsonschema:"uniqueItems=true"`
		F34 uint8 `json:"f34" jsonschema:"uniqueItems=false"`
		F35 uint8 `json:"f35" jsonschema:"-"`
		F36 uint8 `json:"f36" jsonschema:"plain text"`
		F37 uint8 `json:"f37" jsonschema:"unknown=1"`
		D   uint8 `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E uint8 `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnFloat has every key on float64.
	OnFloat struct {
		F00 float64 `json:"f00" jsonschema:"title=A title"`
		F01 float64 `json:"f01" jsonschema:"description=says\\, what"`
		F02 float64 `json:"f02" jsonschema:"type=string"`
		F03 float64 `json:"f03" jsonschema:"type=integer"`
		F04 float64 `json:"f04" jsonschema:"anchor=a1"`
		F05 float64 `json:"f05" jsonschema:"oneof_required=g"`
		F06 float64 `json:"f06" jsonschema:"anyof_required=g"`
		F07 float64 `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 float64 `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 float64 `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 float64 `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 float64 `json:"f11" jsonschema:"nullable"`
		F12 float64 `json:"f12" jsonschema:"required"`
		F13 float64 `json:"f13" jsonschema:"minLength=1"`
		F14 float64 `json:"f14" jsonschema:"maxLength=9"`
		F15 float64 `json:"f15" jsonschema:"pattern=^a"`
		F16 float64 `json:"f16" jsonschema:"format=email"`
		F17 float64 `json:"f17" jsonschema:"readOnly=true"`
		F18 float64 `json:"f18" jsonschema:"writeOnly=true"`
		F19 float64 `json:"f19" jsonschema:"default=1"`
		F20 float64 `json:"f20" jsonschema:"default=true"`
		F21 float64 `json:"f21" jsonschema:"default=x"`
		F22 float64 `json:"f22" jsonschema:"example=1"`
		F23 float64 `json:"f23" jsonschema:"example=x,example=true"`
		F24 float64 `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 float64 `json:"f25" jsonschema:"enum=x"`
		F26 float64 `json:"f26" jsonschema:"multipleOf=3"`
		F27 float64 `json:"f27" jsonschema:"minimum=0"`
		F28 float64 `json:"f28" jsonschema:"maximum=9"`
		F29 float64 `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 float64 `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 float64 `json:"f31" jsonschema:"minItems=1"`
		F32 float64 `json:"f32" jsonschema:"maxItems=2"`
		F33 float64 `json:"f33" jsonschema:"uniqueItems=true"`
		F34 float64 `json:"f34" jsonschema:"uniqueItems=false"`
		F35 float64 `json:"f35" jsonschema:"-"`
		F36 float64 `json:"f36" jsonschema:"plain text"`
		F37 float64 `json:"f37" jsonschema:"unknown=1"`
		D   float64 `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E float64 `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnBool has every key on bool.
	OnBool struct {
		F00 bool `json:"f00" jsonschema:"title=A title"`
		F01 bool `json:"f01" jsonschema:"description=says\\, what"`
		F02 bool `json:"f02" jsonschema:"type=string"`
		F03 bool `json:"f03" jsonschema:"type=integer"`
		F04 bool `json:"f04" jsonschema:"anchor=a1"`
		F05 bool `json:"f05" jsonschema:"oneof_required=g"`
		F06 bool `json:"f06" jsonschema:"anyof_required=g"`
		F07 bool `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 bool `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 bool `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 bool `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 bool `json:"f11" jsonschema:"nullable"`
		F12 bool `json:"f12" jsonschema:"required"`
		F13 bool `json:"f13" jsonschema:"minLength=1"`
		F14 bool `json:"f14" jsonschema:"maxLength=9"`
		F15 bool `json:"f15" jsonschema:"pattern=^a"`
		F16 bool `json:"f16" jsonschema:"format=email"`
		F17 bool `json:"f17" jsonschema:"readOnly=true"`
		F18 bool `json:"f18" jsonschema:"writeOnly=true"`
		F19 bool `json:"f19" jsonschema:"default=1"`
		F20 bool `json:"f20" jsonschema:"default=true"`
		F21 bool `json:"f21" jsonschema:"default=x"`
		F22 bool `json:"f22" jsonschema:"example=1"`
		F23 bool `json:"f23" jsonschema:"example=x,example=true"`
		F24 bool `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 bool `json:"f25" jsonschema:"enum=x"`
		F26 bool `json:"f26" jsonschema:"multipleOf=3"`
		F27 bool `json:"f27" jsonschema:"minimum=0"`
		F28 bool `json:"f28" jsonschema:"maximum=9"`
		F29 bool `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 bool `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 bool `json:"f31" jsonschema:"minItems=1"`
		F32 bool `json:"f32" jsonschema:"maxItems=2"`
		F33 bool `json:"f33" jsonschema:"uniqueItems=true"`
		F34 bool `json:"f34" jsonschema:"uniqueItems=false"`
		F35 bool `json:"f35" jsonschema:"-"`
		F36 bool `json:"f36" jsonschema:"plain text"`
		F37 bool `json:"f37" jsonschema:"unknown=1"`
		D   bool `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E bool `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnStrs has every key on []string.
	OnStrs struct {
		F00 []string `json:"f00" jsonschema:"title=A title"`
		F01 []string `json:"f01" jsonschema:"description=says\\, what"`
		F02 []string `json:"f02" jsonschema:"type=string"`
		F03 []string `json:"f03" jsonschema:"type=integer"`
		F04 []string `json:"f04" jsonschema:"anchor=a1"`
		F05 []string `json:"f05" jsonschema:"oneof_required=g"`
		F06 []string `json:"f06" jsonschema:"anyof_required=g"`
		F07 []string `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []string `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []string `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []string `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []string `json:"f11" jsonschema:"nullable"`
		F12 []string `json:"f12" jsonschema:"required"`
		F13 []string `json:"f13" jsonschema:"minLength=1"`
		F14 []string `json:"f14" jsonschema:"maxLength=9"`
		F15 []string `json:"f15" jsonschema:"pattern=^a"`
		F16 []string `json:"f16" jsonschema:"format=email"`
		F17 []string `json:"f17" jsonschema:"readOnly=true"`
		F18 []string `json:"f18" jsonschema:"writeOnly=true"`
		F19 []string `json:"f19" jsonschema:"default=1"`
		F20 []string `json:"f20" jsonschema:"default=true"`
		F21 []string `json:"f21" jsonschema:"default=x"`
		F22 []string `json:"f22" jsonschema:"example=1"`
		F23 []string `json:"f23" jsonschema:"example=x,example=true"`
		F24 []string `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []string `json:"f25" jsonschema:"enum=x"`
		F26 []string `json:"f26" jsonschema:"multipleOf=3"`
		F27 []string `json:"f27" jsonschema:"minimum=0"`
		F28 []string `json:"f28" jsonschema:"maximum=9"`
		F29 []string `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []string `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []string `json:"f31" jsonschema:"minItems=1"`
		F32 []string `json:"f32" jsonschema:"maxItems=2"`
		F33 []string `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []string `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []string `json:"f35" jsonschema:"-"`
		F36 []string `json:"f36" jsonschema:"plain text"`
		F37 []string `json:"f37" jsonschema:"unknown=1"`
		D   []string `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []string `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnInts has every key on []int.
	OnInts struct {
		F00 []int `json:"f00" jsonschema:"title=A title"`
		F01 []int `json:"f01" jsonschema:"description=says\\, what"`
		F02 []int `json:"f02" jsonschema:"type=string"`
		F03 []int `json:"f03" jsonschema:"type=integer"`
		F04 []int `json:"f04" jsonschema:"anchor=a1"`
		F05 []int `json:"f05" jsonschema:"oneof_required=g"`
		F06 []int `json:"f06" jsonschema:"anyof_required=g"`
		F07 []int `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []int `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []int `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []int `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []int `json:"f11" jsonschema:"nullable"`
		F12 []int `json:"f12" jsonschema:"required"`
		F13 []int `json:"f13" jsonschema:"minLength=1"`
		F14 []int `json:"f14" jsonschema:"maxLength=9"`
		F15 []int `json:"f15" jsonschema:"pattern=^a"`
		F16 []int `json:"f16" jsonschema:"format=email"`
		F17 []int `json:"f17" jsonschema:"readOnly=true"`
		F18 []int `json:"f18" jsonschema:"writeOnly=true"`
		F19 []int `json:"f19" jsonschema:"default=1"`
		F20 []int `json:"f20" jsonschema:"default=true"`
		F21 []int `json:"f21" jsonschema:"default=x"`
		F22 []int `json:"f22" jsonschema:"example=1"`
		F23 []int `json:"f23" jsonschema:"example=x,example=true"`
		F24 []int `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []int `json:"f25" jsonschema:"enum=x"`
		F26 []int `json:"f26" jsonschema:"multipleOf=3"`
		F27 []int `json:"f27" jsonschema:"minimum=0"`
		F28 []int `json:"f28" jsonschema:"maximum=9"`
		F29 []int `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []int `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []int `json:"f31" jsonschema:"minItems=1"`
		F32 []int `json:"f32" jsonschema:"maxItems=2"`
		F33 []int `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []int `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []int `json:"f35" jsonschema:"-"`
		F36 []int `json:"f36" jsonschema:"plain text"`
		F37 []int `json:"f37" jsonschema:"unknown=1"`
		D   []int `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []int `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnFloats has every key on []float32.
	OnFloats struct {
		F00 []float32 `json:"f00" jsonschema:"title=A title"`
		F01 []float32 `json:"f01" jsonschema:"description=says\\, what"`
		F02 []float32 `json:"f02" jsonschema:"type=string"`
		F03 []float32 `json:"f03" jsonschema:"type=integer"`
		F04 []float32 `json:"f04" jsonschema:"anchor=a1"`
		F05 []float32 `json:"f05" jsonschema:"oneof_required=g"`
		F06 []float32 `json:"f06" jsonschema:"anyof_required=g"`
		F07 []float32 `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []float32 `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []float32 `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []float32 `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []float32 `json:"f11" jsonschema:"nullable"`
		F12 []float32 `json:"f12" jsonschema:"required"`
		F13 []float32 `json:"f13" jsonschema:"minLength=1"`
		F14 []float32 `json:"f14" jsonschema:"maxLength=9"`
		F15 []float32 `json:"f15" jsonschema:"pattern=^a"`
		F16 []float32 `json:"f16" jsonschema:"format=email"`
		F17 []float32 `json:"f17" jsonschema:"readOnly=true"`
		F18 []float32 `json:"f18" jsonschema:"writeOnly=true"`
		F19 []float32 `json:"f19" jsonschema:"default=1"`
		F20 []float32 `json:"f20" jsonschema:"default=true"`
		F21 []float32 `json:"f21" jsonschema:"default=x"`
		F22 []float32 `json:"f22" jsonschema:"example=1"`
		F23 []float32 `json:"f23" jsonschema:"example=x,example=true"`
		F24 []float32 `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []float32 `json:"f25" jsonschema:"enum=x"`
		F26 []float32 `json:"f26" jsonschema:"multipleOf=3"`
		F27 []float32 `json:"f27" jsonschema:"minimum=0"`
		F28 []float32 `json:"f28" jsonschema:"maximum=9"`
		F29 []float32 `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []float32 `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []float32 `json:"f31" jsonschema:"minItems=1"`
		F32 []float32 `json:"f32" jsonschema:"maxItems=2"`
		F33 []float32 `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []float32 `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []float32 `json:"f35" jsonschema:"-"`
		F36 []float32 `json:"f36" jsonschema:"plain text"`
		F37 []float32 `json:"f37" jsonschema:"unknown=1"`
		D   []float32 `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []float32 `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnBools has every key on []bool.
	OnBools struct {
		F00 []bool `json:"f00" jsonschema:"title=A title"`
		F01 []bool `json:"f01" jsonschema:"description=says\\, what"`
		F02 []bool `json:"f02" jsonschema:"type=string"`
		F03 []bool `json:"f03" jsonschema:"type=integer"`
		F04 []bool `json:"f04" jsonschema:"anchor=a1"`
		F05 []bool `json:"f05" jsonschema:"oneof_required=g"`
		F06 []bool `json:"f06" jsonschema:"anyof_required=g"`
		F07 []bool `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []bool `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []bool `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []bool `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []bool `json:"f11" jsonschema:"nullable"`
		F12 []bool `json:"f12" jsonschema:"required"`
		F13 []bool `json:"f13" jsonschema:"minLength=1"`
		F14 []bool `json:"f14" jsonschema:"maxLength=9"`
		F15 []bool `json:"f15" jsonschema:"pattern=^a"`
		F16 []bool `json:"f16" jsonschema:"format=email"`
		F17 []bool `json:"f17" jsonschema:"readOnly=true"`
		F18 []bool `json:"f18" jsonschema:"writeOnly=true"`
		F19 []bool `json:"f19" jsonschema:"default=1"`
		F20 []bool `json:"f20" jsonschema:"default=true"`
		F21 []bool `json:"f21" jsonschema:"default=x"`
		F22 []bool `json:"f22" jsonschema:"example=1"`
		F23 []bool `json:"f23" jsonschema:"example=x,example=true"`
		F24 []bool `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []bool `json:"f25" jsonschema:"enum=x"`
		F26 []bool `json:"f26" jsonschema:"multipleOf=3"`
		F27 []bool `json:"f27" jsonschema:"minimum=0"`
		F28 []bool `json:"f28" jsonschema:"maximum=9"`
		F29 []bool `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []bool `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []bool `json:"f31" jsonschema:"minItems=1"`
		F32 []bool `json:"f32" jsonschema:"maxItems=2"`
		F33 []bool `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []bool `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []bool `json:"f35" jsonschema:"-"`
		F36 []bool `json:"f36" jsonschema:"plain text"`
		F37 []bool `json:"f37" jsonschema:"unknown=1"`
		D   []bool `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []bool `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnThings has every key on []Thing.
	OnThings struct {
		F00 []Thing `json:"f00" jsonschema:"title=A title"`
		F01 []Thing `json:"f01" jsonschema:"description=says\\, what"`
		F02 []Thing `json:"f02" jsonschema:"type=string"`
		F03 []Thing `json:"f03" jsonschema:"type=integer"`
		F04 []Thing `json:"f04" jsonschema:"anchor=a1"`
		F05 []Thing `json:"f05" jsonschema:"oneof_required=g"`
		F06 []Thing `json:"f06" jsonschema:"anyof_required=g"`
		F07 []Thing `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []Thing `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []Thing `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []Thing `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []Thing `json:"f11" jsonschema:"nullable"`
		F12 []Thing `json:"f12" jsonschema:"required"`
		F13 []Thing `json:"f13" jsonschema:"minLength=1"`
		F14 []Thing `json:"f14" jsonschema:"maxLength=9"`
		F15 []Thing `json:"f15" jsonschema:"pattern=^a"`
		F16 []Thing `json:"f16" jsonschema:"format=email"`
		F17 []Thing `json:"f17" jsonschema:"readOnly=true"`
		F18 []Thing `json:"f18" jsonschema:"writeOnly=true"`
		F19 []Thing `json:"f19" jsonschema:"default=1"`
		F20 []Thing `json:"f20" jsonschema:"default=true"`
		F21 []Thing `json:"f21" jsonschema:"default=x"`
		F22 []Thing `json:"f22" jsonschema:"example=1"`
		F23 []Thing `json:"f23" jsonschema:"example=x,example=true"`
		F24 []Thing `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []Thing `json:"f25" jsonschema:"enum=x"`
		F26 []Thing `json:"f26" jsonschema:"multipleOf=3"`
		F27 []Thing `json:"f27" jsonschema:"minimum=0"`
		F28 []Thing `json:"f28" jsonschema:"maximum=9"`
		F29 []Thing `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []Thing `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []Thing `json:"f31" jsonschema:"minItems=1"`
		F32 []Thing `json:"f32" jsonschema:"maxItems=2"`
		F33 []Thing `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []Thing `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []Thing `json:"f35" jsonschema:"-"`
		F36 []Thing `json:"f36" jsonschema:"plain text"`
		F37 []Thing `json:"f37" jsonschema:"unknown=1"`
		D   []Thing `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []Thing `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnLists has every key on [][]string.
	OnLists struct {
		F00 [][]string `json:"f00" jsonschema:"title=A title"`
		F01 [][]string `json:"f01" jsonschema:"description=says\\, what"`
		F02 [][]string `json:"f02" jsonschema:"type=string"`
		F03 [][]string `json:"f03" jsonschema:"type=integer"`
		F04 [][]string `json:"f04" jsonschema:"anchor=a1"`
		F05 [][]string `json:"f05" jsonschema:"oneof_required=g"`
		F06 [][]string `json:"f06" jsonschema:"anyof_required=g"`
		F07 [][]string `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 [][]string `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 [][]string `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 [][]string `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 [][]string `json:"f11" jsonschema:"nullable"`
		F12 [][]string `json:"f12" jsonschema:"required"`
		F13 [][]string `json:"f13" jsonschema:"minLength=1"`
		F14 [][]string `json:"f14" jsonschema:"maxLength=9"`
		F15 [][]string `json:"f15" jsonschema:"pattern=^a"`
		F16 [][]string `json:"f16" jsonschema:"format=email"`
		F17 [][]string `json:"f17" jsonschema:"readOnly=true"`
		F18 [][]string `json:"f18" jsonschema:"writeOnly=true"`
		F19 [][]string `json:"f19" jsonschema:"default=1"`
		F20 [][]string `json:"f20" jsonschema:"default=true"`
		F21 [][]string `json:"f21" jsonschema:"default=x"`
		F22 [][]string `json:"f22" jsonschema:"example=1"`
		F23 [][]string `json:"f23" jsonschema:"example=x,example=true"`
		F24 [][]string `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 [][]string `json:"f25" jsonschema:"enum=x"`
		F26 [][]string `json:"f26" jsonschema:"multipleOf=3"`
		F27 [][]string `json:"f27" jsonschema:"minimum=0"`
		F28 [][]string `json:"f28" jsonschema:"maximum=9"`
		F29 [][]string `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 [][]string `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 [][]string `json:"f31" jsonschema:"minItems=1"`
		F32 [][]string `json:"f32" jsonschema:"maxItems=2"`
		F33 [][]string `json:"f33" jsonschema:"uniqueItems=true"`
		F34 [][]string `json:"f34" jsonschema:"uniqueItems=false"`
		F35 [][]string `json:"f35" jsonschema:"-"`
		F36 [][]string `json:"f36" jsonschema:"plain text"`
		F37 [][]string `json:"f37" jsonschema:"unknown=1"`
		D   [][]string `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E [][]string `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnMap has every key on map[string]int.
	OnMap struct {
		F00 map[string]int `json:"f00" jsonschema:"title=A title"`
		F01 map[string]int `json:"f01" jsonschema:"description=says\\, what"`
		F02 map[string]int `json:"f02" jsonschema:"type=string"`
		F03 map[string]int `json:"f03" jsonschema:"type=integer"`
		F04 map[string]int `json:"f04" jsonschema:"anchor=a1"`
		F05 map[string]int `json:"f05" jsonschema:"oneof_required=g"`
		F06 map[string]int `json:"f06" jsonschema:"anyof_required=g"`
		F07 map[string]int `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 map[string]int `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 map[string]int `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 map[string]int `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 map[string]int `json:"f11" jsonschema:"nullable"`
		F12 map[string]int `json:"f12" jsonschema:"required"`
		F13 map[string]int `json:"f13" jsonschema:"minLength=1"`
		F14 map[string]int `json:"f14" jsonschema:"maxLength=9"`
		F15 map[string]int `json:"f15" jsonschema:"pattern=^a"`
		F16 map[string]int `json:"f16" jsonschema:"format=email"`
		F17 map[string]int `json:"f17" jsonschema:"readOnly=true"`
		F18 map[string]int `json:"f18" jsonschema:"writeOnly=true"`
		F19 map[string]int `json:"f19" jsonschema:"default=1"`
		F20 map[string]int `json:"f20" jsonschema:"default=true"`
		F21 map[string]int `json:"f21" jsonschema:"default=x"`
		F22 map[string]int `json:"f22" jsonschema:"example=1"`
		F23 map[string]int `json:"f23" jsonschema:"example=x,example=true"`
		F24 map[string]int `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 map[string]int `json:"f25" jsonschema:"enum=x"`
		F26 map[string]int `json:"f26" jsonschema:"multipleOf=3"`
		F27 map[string]int `json:"f27" jsonschema:"minimum=0"`
		F28 map[string]int `json:"f28" jsonschema:"maximum=9"`
		F29 map[string]int `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 map[string]int `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 map[string]int `json:"f31" jsonschema:"minItems=1"`
		F32 map[string]int `json:"f32" jsonschema:"maxItems=2"`
		F33 map[string]int `json:"f33" jsonschema:"uniqueItems=true"`
		F34 map[string]int `json:"f34" jsonschema:"uniqueItems=false"`
		F35 map[string]int `json:"f35" jsonschema:"-"`
		F36 map[string]int `json:"f36" jsonschema:"plain text"`
		F37 map[string]int `json:"f37" jsonschema:"unknown=1"`
		D   map[string]int `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E map[string]int `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnAny has every key on any.
	OnAny struct {
		F00 any `json:"f00" jsonschema:"title=A title"`
		F01 any `json:"f01" jsonschema:"description=says\\, what"`
		F02 any `json:"f02" jsonschema:"type=string"`
		F03 any `json:"f03" jsonschema:"type=integer"`
		F04 any `json:"f04" jsonschema:"anchor=a1"`
		F05 any `json:"f05" jsonschema:"oneof_required=g"`
		F06 any `json:"f06" jsonschema:"anyof_required=g"`
		F07 any `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 any `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 any `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 any `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 any `json:"f11" jsonschema:"nullable"`
		F12 any `json:"f12" jsonschema:"required"`
		F13 any `json:"f13" jsonschema:"minLength=1"`
		F14 any `json:"f14" jsonschema:"maxLength=9"`
		F15 any `json:"f15" jsonschema:"pattern=^a"`
		F16 any `json:"f16" jsonschema:"format=email"`
		F17 any `json:"f17" jsonschema:"readOnly=true"`
		F18 any `json:"f18" jsonschema:"writeOnly=true"`
		F19 any `json:"f19" jsonschema:"default=1"`
		F20 any `json:"f20" jsonschema:"default=true"`
		F21 any `json:"f21" jsonschema:"default=x"`
		F22 any `json:"f22" jsonschema:"example=1"`
		F23 any `json:"f23" jsonschema:"example=x,example=true"`
		F24 any `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 any `json:"f25" jsonschema:"enum=x"`
		F26 any `json:"f26" jsonschema:"multipleOf=3"`
		F27 any `json:"f27" jsonschema:"minimum=0"`
		F28 any `json:"f28" jsonschema:"maximum=9"`
		F29 any `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 any `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 any `json:"f31" jsonschema:"minItems=1"`
		F32 any `json:"f32" jsonschema:"maxItems=2"`
		F33 any `json:"f33" jsonschema:"uniqueItems=true"`
		F34 any `json:"f34" jsonschema:"uniqueItems=false"`
		F35 any `json:"f35" jsonschema:"-"`
		F36 any `json:"f36" jsonschema:"plain text"`
		F37 any `json:"f37" jsonschema:"unknown=1"`
		D   any `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E any `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnStruct has every key on Thing.
	OnStruct struct {
		F00 Thing `json:"f00" jsonschema:"title=A title"`
		F01 Thing `json:"f01" jsonschema:"description=says\\, what"`
		F02 Thing `json:"f02" jsonschema:"type=string"`
		F03 Thing `json:"f03" jsonschema:"type=integer"`
		F04 Thing `json:"f04" jsonschema:"anchor=a1"`
		F05 Thing `json:"f05" jsonschema:"oneof_required=g"`
		F06 Thing `json:"f06" jsonschema:"anyof_required=g"`
		F07 Thing `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Thing `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Thing `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Thing `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Thing `json:"f11" jsonschema:"nullable"`
		F12 Thing `json:"f12" jsonschema:"required"`
		F13 Thing `json:"f13" jsonschema:"minLength=1"`
		F14 Thing `json:"f14" jsonschema:"maxLength=9"`
		F15 Thing `json:"f15" jsonschema:"pattern=^a"`
		F16 Thing `json:"f16" jsonschema:"format=email"`
		F17 Thing `json:"f17" jsonschema:"readOnly=true"`
		F18 Thing `json:"f18" jsonschema:"writeOnly=true"`
		F19 Thing `json:"f19" jsonschema:"default=1"`
		F20 Thing `json:"f20" jsonschema:"default=true"`
		F21 Thing `json:"f21" jsonschema:"default=x"`
		F22 Thing `json:"f22" jsonschema:"example=1"`
		F23 Thing `json:"f23" jsonschema:"example=x,example=true"`
		F24 Thing `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Thing `json:"f25" jsonschema:"enum=x"`
		F26 Thing `json:"f26" jsonschema:"multipleOf=3"`
		F27 Thing `json:"f27" jsonschema:"minimum=0"`
		F28 Thing `json:"f28" jsonschema:"maximum=9"`
		F29 Thing `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Thing `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Thing `json:"f31" jsonschema:"minItems=1"`
		F32 Thing `json:"f32" jsonschema:"maxItems=2"`
		F33 Thing `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Thing `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Thing `json:"f35" jsonschema:"-"`
		F36 Thing `json:"f36" jsonschema:"plain text"`
		F37 Thing `json:"f37" jsonschema:"unknown=1"`
		D   Thing `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Thing `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnPtr has every key on *Thing.
	OnPtr struct {
		F00 *Thing `json:"f00" jsonschema:"title=A title"`
		F01 *Thing `json:"f01" jsonschema:"description=says\\, what"`
		F02 *Thing `json:"f02" jsonschema:"type=string"`
		F03 *Thing `json:"f03" jsonschema:"type=integer"`
		F04 *Thing `json:"f04" jsonschema:"anchor=a1"`
		F05 *Thing `json:"f05" jsonschema:"oneof_required=g"`
		F06 *Thing `json:"f06" jsonschema:"anyof_required=g"`
		F07 *Thing `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 *Thing `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 *Thing `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 *Thing `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 *Thing `json:"f11" jsonschema:"nullable"`
		F12 *Thing `json:"f12" jsonschema:"required"`
		F13 *Thing `json:"f13" jsonschema:"minLength=1"`
		F14 *Thing `json:"f14" jsonschema:"maxLength=9"`
		F15 *Thing `json:"f15" jsonschema:"pattern=^a"`
		F16 *Thing `json:"f16" jsonschema:"format=email"`
		F17 *Thing `json:"f17" jsonschema:"readOnly=true"`
		F18 *Thing `json:"f18" jsonschema:"writeOnly=true"`
		F19 *Thing `json:"f19" jsonschema:"default=1"`
		F20 *Thing `json:"f20" jsonschema:"default=true"`
		F21 *Thing `json:"f21" jsonschema:"default=x"`
		F22 *Thing `json:"f22" jsonschema:"example=1"`
		F23 *Thing `json:"f23" jsonschema:"example=x,example=true"`
		F24 *Thing `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 *Thing `json:"f25" jsonschema:"enum=x"`
		F26 *Thing `json:"f26" jsonschema:"multipleOf=3"`
		F27 *Thing `json:"f27" jsonschema:"minimum=0"`
		F28 *Thing `json:"f28" jsonschema:"maximum=9"`
		F29 *Thing `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 *Thing `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 *Thing `json:"f31" jsonschema:"minItems=1"`
		F32 *Thing `json:"f32" jsonschema:"maxItems=2"`
		F33 *Thing `json:"f33" jsonschema:"uniqueItems=true"`
		F34 *Thing `json:"f34" jsonschema:"uniqueItems=false"`
		F35 *Thing `json:"f35" jsonschema:"-"`
		F36 *Thing `json:"f36" jsonschema:"plain text"`
		F37 *Thing `json:"f37" jsonschema:"unknown=1"`
		D   *Thing `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E *Thing `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnStrPtr has every key on *string.
	OnStrPtr struct {
		F00 *string `json:"f00" jsonschema:"title=A title"`
		F01 *string `json:"f01" jsonschema:"description=says\\, what"`
		F02 *string `json:"f02" jsonschema:"type=string"`
		F03 *string `json:"f03" jsonschema:"type=integer"`
		F04 *string `json:"f04" jsonschema:"anchor=a1"`
		F05 *string `json:"f05" jsonschema:"oneof_required=g"`
		F06 *string `json:"f06" jsonschema:"anyof_required=g"`
		F07 *string `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 *string `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 *string `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 *string `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 *string `json:"f11" jsonschema:"nullable"`
		F12 *string `json:"f12" jsonschema:"required"`
		F13 *string `json:"f13" jsonschema:"minLength=1"`
		F14 *string `json:"f14" jsonschema:"maxLength=9"`
		F15 *string `json:"f15" jsonschema:"pattern=^a"`
		F16 *string `json:"f16" jsonschema:"format=email"`
		F17 *string `json:"f17" jsonschema:"readOnly=true"`
		F18 *string `json:"f18" jsonschema:"writeOnly=true"`
		F19 *string `json:"f19" jsonschema:"default=1"`
		F20 *string `json:"f20" jsonschema:"default=true"`
		F21 *string `json:"f21" jsonschema:"default=x"`
		F22 *string `json:"f22" jsonschema:"example=1"`
		F23 *string `json:"f23" jsonschema:"example=x,example=true"`
		F24 *string `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 *string `json:"f25" jsonschema:"enum=x"`
		F26 *string `json:"f26" jsonschema:"multipleOf=3"`
		F27 *string `json:"f27" jsonschema:"minimum=0"`
		F28 *string `json:"f28" jsonschema:"maximum=9"`
		F29 *string `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 *string `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 *string `json:"f31" jsonschema:"minItems=1"`
		F32 *string `json:"f32" jsonschema:"maxItems=2"`
		F33 *string `json:"f33" jsonschema:"uniqueItems=true"`
		F34 *string `json:"f34" jsonschema:"uniqueItems=false"`
		F35 *string `json:"f35" jsonschema:"-"`
		F36 *string `json:"f36" jsonschema:"plain text"`
		F37 *string `json:"f37" jsonschema:"unknown=1"`
		D   *string `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E *string `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnNamedStr has every key on Text.
	OnNamedStr struct {
		F00 Text `json:"f00" jsonschema:"title=A title"`
		F01 Text `json:"f01" jsonschema:"description=says\\, what"`
		F02 Text `json:"f02" jsonschema:"type=string"`
		F03 Text `json:"f03" jsonschema:"type=integer"`
		F04 Text `json:"f04" jsonschema:"anchor=a1"`
		F05 Text `json:"f05" jsonschema:"oneof_required=g"`
		F06 Text `json:"f06" jsonschema:"anyof_required=g"`
		F07 Text `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Text `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Text `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Text `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Text `json:"f11" jsonschema:"nullable"`
		F12 Text `json:"f12" jsonschema:"required"`
		F13 Text `json:"f13" jsonschema:"minLength=1"`
		F14 Text `json:"f14" jsonschema:"maxLength=9"`
		F15 Text `json:"f15" jsonschema:"pattern=^a"`
		F16 Text `json:"f16" jsonschema:"format=email"`
		F17 Text `json:"f17" jsonschema:"readOnly=true"`
		F18 Text `json:"f18" jsonschema:"writeOnly=true"`
		F19 Text `json:"f19" jsonschema:"default=1"`
		F20 Text `json:"f20" jsonschema:"default=true"`
		F21 Text `json:"f21" jsonschema:"default=x"`
		F22 Text `json:"f22" jsonschema:"example=1"`
		F23 Text `json:"f23" jsonschema:"example=x,example=true"`
		F24 Text `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Text `json:"f25" jsonschema:"enum=x"`
		F26 Text `json:"f26" jsonschema:"multipleOf=3"`
		F27 Text `json:"f27" jsonschema:"minimum=0"`
		F28 Text `json:"f28" jsonschema:"maximum=9"`
		F29 Text `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Text `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Text `json:"f31" jsonschema:"minItems=1"`
		F32 Text `json:"f32" jsonschema:"maxItems=2"`
		F33 Text `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Text `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Text `json:"f35" jsonschema:"-"`
		F36 Text `json:"f36" jsonschema:"plain text"`
		F37 Text `json:"f37" jsonschema:"unknown=1"`
		D   Text `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Text `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnNamedInt has every key on Int.
	OnNamedInt struct {
		F00 Int `json:"f00" jsonschema:"title=A title"`
		F01 Int `json:"f01" jsonschema:"description=says\\, what"`
		F02 Int `json:"f02" jsonschema:"type=string"`
		F03 Int `json:"f03" jsonschema:"type=integer"`
		F04 Int `json:"f04" jsonschema:"anchor=a1"`
		F05 Int `json:"f05" jsonschema:"oneof_required=g"`
		F06 Int `json:"f06" jsonschema:"anyof_required=g"`
		F07 Int `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Int `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Int `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Int `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Int `json:"f11" jsonschema:"nullable"`
		F12 Int `json:"f12" jsonschema:"required"`
		F13 Int `json:"f13" jsonschema:"minLength=1"`
		F14 Int `json:"f14" jsonschema:"maxLength=9"`
		F15 Int `json:"f15" jsonschema:"pattern=^a"`
		F16 Int `json:"f16" jsonschema:"format=email"`
		F17 Int `json:"f17" jsonschema:"readOnly=true"`
		F18 Int `json:"f18" jsonschema:"writeOnly=true"`
		F19 Int `json:"f19" jsonschema:"default=1"`
		F20 Int `json:"f20" jsonschema:"default=true"`
		F21 Int `json:"f21" jsonschema:"default=x"`
		F22 Int `json:"f22" jsonschema:"example=1"`
		F23 Int `json:"f23" jsonschema:"example=x,example=true"`
		F24 Int `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Int `json:"f25" jsonschema:"enum=x"`
		F26 Int `json:"f26" jsonschema:"multipleOf=3"`
		F27 Int `json:"f27" jsonschema:"minimum=0"`
		F28 Int `json:"f28" jsonschema:"maximum=9"`
		F29 Int `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Int `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Int `json:"f31" jsonschema:"minItems=1"`
		F32 Int `json:"f32" jsonschema:"maxItems=2"`
		F33 Int `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Int `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Int `json:"f35" jsonschema:"-"`
		F36 Int `json:"f36" jsonschema:"plain text"`
		F37 Int `json:"f37" jsonschema:"unknown=1"`
		D   Int `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Int `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnNamedList has every key on Words.
	OnNamedList struct {
		F00 Words `json:"f00" jsonschema:"title=A title"`
		F01 Words `json:"f01" jsonschema:"description=says\\, what"`
		F02 Words `json:"f02" jsonschema:"type=string"`
		F03 Words `json:"f03" jsonschema:"type=integer"`
		F04 Words `json:"f04" jsonschema:"anchor=a1"`
		F05 Words `json:"f05" jsonschema:"oneof_required=g"`
		F06 Words `json:"f06" jsonschema:"anyof_required=g"`
		F07 Words `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Words `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Words `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Words `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Words `json:"f11" jsonschema:"nullable"`
		F12 Words `json:"f12" jsonschema:"required"`
		F13 Words `json:"f13" jsonschema:"minLength=1"`
		F14 Words `json:"f14" jsonschema:"maxLength=9"`
		F15 Words `json:"f15" jsonschema:"pattern=^a"`
		F16 Words `json:"f16" jsonschema:"format=email"`
		F17 Words `json:"f17" jsonschema:"readOnly=true"`
		F18 Words `json:"f18" jsonschema:"writeOnly=true"`
		F19 Words `json:"f19" jsonschema:"default=1"`
		F20 Words `json:"f20" jsonschema:"default=true"`
		F21 Words `json:"f21" jsonschema:"default=x"`
		F22 Words `json:"f22" jsonschema:"example=1"`
		F23 Words `json:"f23" jsonschema:"example=x,example=true"`
		F24 Words `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Words `json:"f25" jsonschema:"enum=x"`
		F26 Words `json:"f26" jsonschema:"multipleOf=3"`
		F27 Words `json:"f27" jsonschema:"minimum=0"`
		F28 Words `json:"f28" jsonschema:"maximum=9"`
		F29 Words `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Words `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Words `json:"f31" jsonschema:"minItems=1"`
		F32 Words `json:"f32" jsonschema:"maxItems=2"`
		F33 Words `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Words `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Words `json:"f35" jsonschema:"-"`
		F36 Words `json:"f36" jsonschema:"plain text"`
		F37 Words `json:"f37" jsonschema:"unknown=1"`
		D   Words `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Words `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnNamedMap has every key on Table.
	OnNamedMap struct {
		F00 Table `json:"f00" jsonschema:"title=A title"`
		F01 Table `json:"f01" jsonschema:"description=says\\, what"`
		F02 Table `json:"f02" jsonschema:"type=string"`
		F03 Table `json:"f03" jsonschema:"type=integer"`
		F04 Table `json:"f04" jsonschema:"anchor=a1"`
		F05 Table `json:"f05" jsonschema:"oneof_required=g"`
		F06 Table `json:"f06" jsonschema:"anyof_required=g"`
		F07 Table `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Table `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Table `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Table `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Table `json:"f11" jsonschema:"nullable"`
		F12 Table `json:"f12" jsonschema:"required"`
		F13 Table `json:"f13" jsonschema:"minLength=1"`
		F14 Table `json:"f14" jsonschema:"maxLength=9"`
		F15 Table `json:"f15" jsonschema:"pattern=^a"`
		F16 Table `json:"f16" jsonschema:"format=email"`
		F17 Table `json:"f17" jsonschema:"readOnly=true"`
		F18 Table `json:"f18" jsonschema:"writeOnly=true"`
		F19 Table `json:"f19" jsonschema:"default=1"`
		F20 Table `json:"f20" jsonschema:"default=true"`
		F21 Table `json:"f21" jsonschema:"default=x"`
		F22 Table `json:"f22" jsonschema:"example=1"`
		F23 Table `json:"f23" jsonschema:"example=x,example=true"`
		F24 Table `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Table `json:"f25" jsonschema:"enum=x"`
		F26 Table `json:"f26" jsonschema:"multipleOf=3"`
		F27 Table `json:"f27" jsonschema:"minimum=0"`
		F28 Table `json:"f28" jsonschema:"maximum=9"`
		F29 Table `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Table `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Table `json:"f31" jsonschema:"minItems=1"`
		F32 Table `json:"f32" jsonschema:"maxItems=2"`
		F33 Table `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Table `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Table `json:"f35" jsonschema:"-"`
		F36 Table `json:"f36" jsonschema:"plain text"`
		F37 Table `json:"f37" jsonschema:"unknown=1"`
		D   Table `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Table `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnBytes has every key on []byte.
	OnBytes struct {
		F00 []byte `json:"f00" jsonschema:"title=A title"`
		F01 []byte `json:"f01" jsonschema:"description=says\\, what"`
		F02 []byte `json:"f02" jsonschema:"type=string"`
		F03 []byte `json:"f03" jsonschema:"type=integer"`
		F04 []byte `json:"f04" jsonschema:"anchor=a1"`
		F05 []byte `json:"f05" jsonschema:"oneof_required=g"`
		F06 []byte `json:"f06" jsonschema:"anyof_required=g"`
		F07 []byte `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 []byte `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 []byte `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 []byte `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 []byte `json:"f11" jsonschema:"nullable"`
		F12 []byte `json:"f12" jsonschema:"required"`
		F13 []byte `json:"f13" jsonschema:"minLength=1"`
		F14 []byte `json:"f14" jsonschema:"maxLength=9"`
		F15 []byte `json:"f15" jsonschema:"pattern=^a"`
		F16 []byte `json:"f16" jsonschema:"format=email"`
		F17 []byte `json:"f17" jsonschema:"readOnly=true"`
		F18 []byte `json:"f18" jsonschema:"writeOnly=true"`
		F19 []byte `json:"f19" jsonschema:"default=1"`
		F20 []byte `json:"f20" jsonschema:"default=true"`
		F21 []byte `json:"f21" jsonschema:"default=x"`
		F22 []byte `json:"f22" jsonschema:"example=1"`
		F23 []byte `json:"f23" jsonschema:"example=x,example=true"`
		F24 []byte `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 []byte `json:"f25" jsonschema:"enum=x"`
		F26 []byte `json:"f26" jsonschema:"multipleOf=3"`
		F27 []byte `json:"f27" jsonschema:"minimum=0"`
		F28 []byte `json:"f28" jsonschema:"maximum=9"`
		F29 []byte `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 []byte `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 []byte `json:"f31" jsonschema:"minItems=1"`
		F32 []byte `json:"f32" jsonschema:"maxItems=2"`
		F33 []byte `json:"f33" jsonschema:"uniqueItems=true"`
		F34 []byte `json:"f34" jsonschema:"uniqueItems=false"`
		F35 []byte `json:"f35" jsonschema:"-"`
		F36 []byte `json:"f36" jsonschema:"plain text"`
		F37 []byte `json:"f37" jsonschema:"unknown=1"`
		D   []byte `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E []byte `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnTime has every key on time.Time.
	OnTime struct {
		F00 time.Time `json:"f00" jsonschema:"title=A title"`
		F01 time.Time `json:"f01" jsonschema:"description=says\\, what"`
		F02 time.Time `json:"f02" jsonschema:"type=string"`
		F03 time.Time `json:"f03" jsonschema:"type=integer"`
		F04 time.Time `json:"f04" jsonschema:"anchor=a1"`
		F05 time.Time `json:"f05" jsonschema:"oneof_required=g"`
		F06 time.Time `json:"f06" jsonschema:"anyof_required=g"`
		F07 time.Time `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 time.Time `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 time.Time `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 time.Time `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 time.Time `json:"f11" jsonschema:"nullable"`
		F12 time.Time `json:"f12" jsonschema:"required"`
		F13 time.Time `json:"f13" jsonschema:"minLength=1"`
		F14 time.Time `json:"f14" jsonschema:"maxLength=9"`
		F15 time.Time `json:"f15" jsonschema:"pattern=^a"`
		F16 time.Time `json:"f16" jsonschema:"format=email"`
		F17 time.Time `json:"f17" jsonschema:"readOnly=true"`
		F18 time.Time `json:"f18" jsonschema:"writeOnly=true"`
		F19 time.Time `json:"f19" jsonschema:"default=1"`
		F20 time.Time `json:"f20" jsonschema:"default=true"`
		F21 time.Time `json:"f21" jsonschema:"default=x"`
		F22 time.Time `json:"f22" jsonschema:"example=1"`
		F23 time.Time `json:"f23" jsonschema:"example=x,example=true"`
		F24 time.Time `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 time.Time `json:"f25" jsonschema:"enum=x"`
		F26 time.Time `json:"f26" jsonschema:"multipleOf=3"`
		F27 time.Time `json:"f27" jsonschema:"minimum=0"`
		F28 time.Time `json:"f28" jsonschema:"maximum=9"`
		F29 time.Time `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 time.Time `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 time.Time `json:"f31" jsonschema:"minItems=1"`
		F32 time.Time `json:"f32" jsonschema:"maxItems=2"`
		F33 time.Time `json:"f33" jsonschema:"uniqueItems=true"`
		F34 time.Time `json:"f34" jsonschema:"uniqueItems=false"`
		F35 time.Time `json:"f35" jsonschema:"-"`
		F36 time.Time `json:"f36" jsonschema:"plain text"`
		F37 time.Time `json:"f37" jsonschema:"unknown=1"`
		D   time.Time `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E time.Time `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnArray has every key on [2]string.
	OnArray struct {
		F00 [2]string `json:"f00" jsonschema:"title=A title"`
		F01 [2]string `json:"f01" jsonschema:"description=says\\, what"`
		F02 [2]string `json:"f02" jsonschema:"type=string"`
		F03 [2]string `json:"f03" jsonschema:"type=integer"`
		F04 [2]string `json:"f04" jsonschema:"anchor=a1"`
		F05 [2]string `json:"f05" jsonschema:"oneof_required=g"`
		F06 [2]string `json:"f06" jsonschema:"anyof_required=g"`
		F07 [2]string `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 [2]string `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 [2]string `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 [2]string `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 [2]string `json:"f11" jsonschema:"nullable"`
		F12 [2]string `json:"f12" jsonschema:"required"`
		F13 [2]string `json:"f13" jsonschema:"minLength=1"`
		F14 [2]string `json:"f14" jsonschema:"maxLength=9"`
		F15 [2]string `json:"f15" jsonschema:"pattern=^a"`
		F16 [2]string `json:"f16" jsonschema:"format=email"`
		F17 [2]string `json:"f17" jsonschema:"readOnly=true"`
		F18 [2]string `json:"f18" jsonschema:"writeOnly=true"`
		F19 [2]string `json:"f19" jsonschema:"default=1"`
		F20 [2]string `json:"f20" jsonschema:"default=true"`
		F21 [2]string `json:"f21" jsonschema:"default=x"`
		F22 [2]string `json:"f22" jsonschema:"example=1"`
		F23 [2]string `json:"f23" jsonschema:"example=x,example=true"`
		F24 [2]string `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 [2]string `json:"f25" jsonschema:"enum=x"`
		F26 [2]string `json:"f26" jsonschema:"multipleOf=3"`
		F27 [2]string `json:"f27" jsonschema:"minimum=0"`
		F28 [2]string `json:"f28" jsonschema:"maximum=9"`
		F29 [2]string `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 [2]string `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 [2]string `json:"f31" jsonschema:"minItems=1"`
		F32 [2]string `json:"f32" jsonschema:"maxItems=2"`
		F33 [2]string `json:"f33" jsonschema:"uniqueItems=true"`
		F34 [2]string `json:"f34" jsonschema:"uniqueItems=false"`
		F35 [2]string `json:"f35" jsonschema:"-"`
		F36 [2]string `json:"f36" jsonschema:"plain text"`
		F37 [2]string `json:"f37" jsonschema:"unknown=1"`
		D   [2]string `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E [2]string `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnRaw has every key on json.RawMessage.
	OnRaw struct {
		F00 json.RawMessage `json:"f00" jsonschema:"title=A title"`
		F01 json.RawMessage `json:"f01" jsonschema:"description=says\\, what"`
		F02 json.RawMessage `json:"f02" jsonschema:"type=string"`
		F03 json.RawMessage `json:"f03" jsonschema:"type=integer"`
		F04 json.RawMessage `json:"f04" jsonschema:"anchor=a1"`
		F05 json.RawMessage `json:"f05" jsonschema:"oneof_required=g"`
		F06 json.RawMessage `json:"f06" jsonschema:"anyof_required=g"`
		F07 json.RawMessage `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 json.RawMessage `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 json.RawMessage `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 json.RawMessage `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 json.RawMessage `json:"f11" jsonschema:"nullable"`
		F12 json.RawMessage `json:"f12" jsonschema:"required"`
		F13 json.RawMessage `json:"f13" jsonschema:"minLength=1"`
		F14 json.RawMessage `json:"f14" jsonschema:"maxLength=9"`
		F15 json.RawMessage `json:"f15" jsonschema:"pattern=^a"`
		F16 json.RawMessage `json:"f16" jsonschema:"format=email"`
		F17 json.RawMessage `json:"f17" jsonschema:"readOnly=true"`
		F18 json.RawMessage `json:"f18" jsonschema:"writeOnly=true"`
		F19 json.RawMessage `json:"f19" jsonschema:"default=1"`
		F20 json.RawMessage `json:"f20" jsonschema:"default=true"`
		F21 json.RawMessage `json:"f21" jsonschema:"default=x"`
		F22 json.RawMessage `json:"f22" jsonschema:"example=1"`
		F23 json.RawMessage `json:"f23" jsonschema:"example=x,example=true"`
		F24 json.RawMessage `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 json.RawMessage `json:"f25" jsonschema:"enum=x"`
		F26 json.RawMessage `json:"f26" jsonschema:"multipleOf=3"`
		F27 json.RawMessage `json:"f27" jsonschema:"minimum=0"`
		F28 json.RawMessage `json:"f28" jsonschema:"maximum=9"`
		F29 json.RawMessage `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 json.RawMessage `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 json.RawMessage `json:"f31" jsonschema:"minItems=1"`
		F32 json.RawMessage `json:"f32" jsonschema:"maxItems=2"`
		F33 json.RawMessage `json:"f33" jsonschema:"uniqueItems=true"`
		F34 json.RawMessage `json:"f34" jsonschema:"uniqueItems=false"`
		F35 json.RawMessage `json:"f35" jsonschema:"-"`
		F36 json.RawMessage `json:"f36" jsonschema:"plain text"`
		F37 json.RawMessage `json:"f37" jsonschema:"unknown=1"`
		D   json.RawMessage `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E json.RawMessage `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnNumber has every key on json.Number.
	OnNumber struct {
		F00 json.Number `json:"f00" jsonschema:"title=A title"`
		F01 json.Number `json:"f01" jsonschema:"description=says\\, what"`
		F02 json.Number `json:"f02" jsonschema:"type=string"`
		F03 json.Number `json:"f03" jsonschema:"type=integer"`
		F04 json.Number `json:"f04" jsonschema:"anchor=a1"`
		F05 json.Number `json:"f05" jsonschema:"oneof_required=g"`
		F06 json.Number `json:"f06" jsonschema:"anyof_required=g"`
		F07 json.Number `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 json.Number `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 json.Number `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 json.Number `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 json.Number `json:"f11" jsonschema:"nullable"`
		F12 json.Number `json:"f12" jsonschema:"required"`
		F13 json.Number `json:"f13" jsonschema:"minLength=1"`
		F14 json.Number `json:"f14" jsonschema:"maxLength=9"`
		F15 json.Number `json:"f15" jsonschema:"pattern=^a"`
		F16 json.Number `json:"f16" jsonschema:"format=email"`
		F17 json.Number `json:"f17" jsonschema:"readOnly=true"`
		F18 json.Number `json:"f18" jsonschema:"writeOnly=true"`
		F19 json.Number `json:"f19" jsonschema:"default=1"`
		F20 json.Number `json:"f20" jsonschema:"default=true"`
		F21 json.Number `json:"f21" jsonschema:"default=x"`
		F22 json.Number `json:"f22" jsonschema:"example=1"`
		F23 json.Number `json:"f23" jsonschema:"example=x,example=true"`
		F24 json.Number `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 json.Number `json:"f25" jsonschema:"enum=x"`
		F26 json.Number `json:"f26" jsonschema:"multipleOf=3"`
		F27 json.Number `json:"f27" jsonschema:"minimum=0"`
		F28 json.Number `json:"f28" jsonschema:"maximum=9"`
		F29 json.Number `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 json.Number `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 json.Number `json:"f31" jsonschema:"minItems=1"`
		F32 json.Number `json:"f32" jsonschema:"maxItems=2"`
		F33 json.Number `json:"f33" jsonschema:"uniqueItems=true"`
		F34 json.Number `json:"f34" jsonschema:"uniqueItems=false"`
		F35 json.Number `json:"f35" jsonschema:"-"`
		F36 json.Number `json:"f36" jsonschema:"plain text"`
		F37 json.Number `json:"f37" jsonschema:"unknown=1"`
		D   json.Number `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E json.Number `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnGeneric has every key on Maybe[string].
	OnGeneric struct {
		F00 Maybe[string] `json:"f00" jsonschema:"title=A title"`
		F01 Maybe[string] `json:"f01" jsonschema:"description=says\\, what"`
		F02 Maybe[string] `json:"f02" jsonschema:"type=string"`
		F03 Maybe[string] `json:"f03" jsonschema:"type=integer"`
		F04 Maybe[string] `json:"f04" jsonschema:"anchor=a1"`
		F05 Maybe[string] `json:"f05" jsonschema:"oneof_required=g"`
		F06 Maybe[string] `json:"f06" jsonschema:"anyof_required=g"`
		F07 Maybe[string] `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 Maybe[string] `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 Maybe[string] `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 Maybe[string] `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 Maybe[string] `json:"f11" jsonschema:"nullable"`
		F12 Maybe[string] `json:"f12" jsonschema:"required"`
		F13 Maybe[string] `json:"f13" jsonschema:"minLength=1"`
		F14 Maybe[string] `json:"f14" jsonschema:"maxLength=9"`
		F15 Maybe[string] `json:"f15" jsonschema:"pattern=^a"`
		F16 Maybe[string] `json:"f16" jsonschema:"format=email"`
		F17 Maybe[string] `json:"f17" jsonschema:"readOnly=true"`
		F18 Maybe[string] `json:"f18" jsonschema:"writeOnly=true"`
		F19 Maybe[string] `json:"f19" jsonschema:"default=1"`
		F20 Maybe[string] `json:"f20" jsonschema:"default=true"`
		F21 Maybe[string] `json:"f21" jsonschema:"default=x"`
		F22 Maybe[string] `json:"f22" jsonschema:"example=1"`
		F23 Maybe[string] `json:"f23" jsonschema:"example=x,example=true"`
		F24 Maybe[string] `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 Maybe[string] `json:"f25" jsonschema:"enum=x"`
		F26 Maybe[string] `json:"f26" jsonschema:"multipleOf=3"`
		F27 Maybe[string] `json:"f27" jsonschema:"minimum=0"`
		F28 Maybe[string] `json:"f28" jsonschema:"maximum=9"`
		F29 Maybe[string] `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 Maybe[string] `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 Maybe[string] `json:"f31" jsonschema:"minItems=1"`
		F32 Maybe[string] `json:"f32" jsonschema:"maxItems=2"`
		F33 Maybe[string] `json:"f33" jsonschema:"uniqueItems=true"`
		F34 Maybe[string] `json:"f34" jsonschema:"uniqueItems=false"`
		F35 Maybe[string] `json:"f35" jsonschema:"-"`
		F36 Maybe[string] `json:"f36" jsonschema:"plain text"`
		F37 Maybe[string] `json:"f37" jsonschema:"unknown=1"`
		D   Maybe[string] `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E Maybe[string] `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
	// OnLevel has every key on far.Level.
	OnLevel struct {
		F00 far.Level `json:"f00" jsonschema:"title=A title"`
		F01 far.Level `json:"f01" jsonschema:"description=says\\, what"`
		F02 far.Level `json:"f02" jsonschema:"type=string"`
		F03 far.Level `json:"f03" jsonschema:"type=integer"`
		F04 far.Level `json:"f04" jsonschema:"anchor=a1"`
		F05 far.Level `json:"f05" jsonschema:"oneof_required=g"`
		F06 far.Level `json:"f06" jsonschema:"anyof_required=g"`
		F07 far.Level `json:"f07" jsonschema:"oneof_type=string;integer"`
		F08 far.Level `json:"f08" jsonschema:"anyof_type=number;null"`
		F09 far.Level `json:"f09" jsonschema:"oneof_ref=#/$defs/Thing"`
		F10 far.Level `json:"f10" jsonschema:"anyof_ref=#/$defs/Thing;#/$defs/Copied"`
		F11 far.Level `json:"f11" jsonschema:"nullable"`
		F12 far.Level `json:"f12" jsonschema:"required"`
		F13 far.Level `json:"f13" jsonschema:"minLength=1"`
		F14 far.Level `json:"f14" jsonschema:"maxLength=9"`
		F15 far.Level `json:"f15" jsonschema:"pattern=^a"`
		F16 far.Level `json:"f16" jsonschema:"format=email"`
		F17 far.Level `json:"f17" jsonschema:"readOnly=true"`
		F18 far.Level `json:"f18" jsonschema:"writeOnly=true"`
		F19 far.Level `json:"f19" jsonschema:"default=1"`
		F20 far.Level `json:"f20" jsonschema:"default=true"`
		F21 far.Level `json:"f21" jsonschema:"default=x"`
		F22 far.Level `json:"f22" jsonschema:"example=1"`
		F23 far.Level `json:"f23" jsonschema:"example=x,example=true"`
		F24 far.Level `json:"f24" jsonschema:"enum=1,enum=2"`
		F25 far.Level `json:"f25" jsonschema:"enum=x"`
		F26 far.Level `json:"f26" jsonschema:"multipleOf=3"`
		F27 far.Level `json:"f27" jsonschema:"minimum=0"`
		F28 far.Level `json:"f28" jsonschema:"maximum=9"`
		F29 far.Level `json:"f29" jsonschema:"exclusiveMinimum=0"`
		F30 far.Level `json:"f30" jsonschema:"exclusiveMaximum=9"`
		F31 far.Level `json:"f31" jsonschema:"minItems=1"`
		F32 far.Level `json:"f32" jsonschema:"maxItems=2"`
		F33 far.Level `json:"f33" jsonschema:"uniqueItems=true"`
		F34 far.Level `json:"f34" jsonschema:"uniqueItems=false"`
		F35 far.Level `json:"f35" jsonschema:"-"`
		F36 far.Level `json:"f36" jsonschema:"plain text"`
		F37 far.Level `json:"f37" jsonschema:"unknown=1"`
		D   far.Level `json:"d" jsonschema_description:"by a tag of its own"`
		// E has a comment.
		E far.Level `json:"e,omitempty" jsonschema:"title=E" jsonschema_description:"twice" jsonschema_extras:"x-a=1,x-b=two,x-b=three,x-c=true,minimum=3"`
	}
)
