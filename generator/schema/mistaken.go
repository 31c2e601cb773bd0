package schema

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// A jsonschema tag without a key is a description, as go-sdk has it. One that was meant as a key
// would be lost there in silence, and its limit with it.

// everyday are keys that are words of descriptions as well. Alone, or with a word that is no value
// of theirs, they are taken for such.
var everyday = []string{"anchor", "default", "description", "example", "format", "pattern", "title", "type"}

// assigned finds a key within text: a word, an equals sign and something after it. A colon without
// spaces counts as well.
var assigned = regexp.MustCompile(`(?:^|[\s;,(])([A-Za-z_]+)(\s*=\s*|:)(\S+)`)

// numeral is a number, whatever unit or bracket ends it.
var numeral = regexp.MustCompile(`^[-+]?[0-9][0-9.eE+-]*$`)

// mistaken returns the element that a description was probably meant to be, or nothing: parts
// between commas, each of one or two words of which the first is, or nearly is, a key; or an
// assignment that stands behind other words.
func mistaken(text string) string {
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		key, value := resembled(m[1]), m[3]
		if key != "pattern" {
			value = strings.TrimRight(value, ",;.)")
		}
		common := slices.Contains(everyday, key)
		switch {
		case key == "" || value == "":
		case slices.Contains(flags, key):
			if value == "true" {
				return key
			}
		case m[2] == ":" && (common || !isValue(key, value)):
		case !common || isValue(key, value):
			return key + "=" + strings.ReplaceAll(value, ",", `\\,`)
		}
	}
	first := ""
	for i, part := range strings.Split(text, ",") {
		e := meant(strings.Fields(part))
		if e == "" {
			return ""
		}
		if i == 0 {
			first = e
		}
	}
	return first
}

func meant(words []string) string {
	if len(words) == 0 || len(words) > 2 {
		return ""
	}
	word, colon := strings.CutSuffix(words[0], ":")
	key := resembled(word)
	switch {
	case key == "":
	case slices.Contains(flags, key):
		if len(words) == 1 {
			return key
		}
	case len(words) == 1:
		if !slices.Contains(everyday, key) {
			return key + "=" + sample(key)
		}
	case isValue(key, words[1]) || colon && !slices.Contains(everyday, key):
		return key + "=" + words[1]
	}
	return ""
}

// resembled is the key or flag that a word is but for case and a slip, or nothing. It is stricter
// than [nearest], which is asked where something is wrong already.
func resembled(word string) string {
	for _, known := range slices.Concat(allKeys, flags[:2]) {
		if strings.EqualFold(word, known) {
			return known
		}
	}
	for _, known := range slices.Concat(allKeys, flags[:2]) {
		slips := max(1, len(known)/4)
		if slices.Contains(flags, known) || slices.Contains(everyday, known) {
			slips = 1
		}
		if len(word) >= 4 && editdistance.Between(strings.ToLower(word), strings.ToLower(known)) <= slips {
			return known
		}
	}
	return ""
}

// sample is a value to show for a key that was written without.
func sample(key string) string {
	if slices.Contains([]string{"uniqueItems", "readOnly", "writeOnly"}, key) {
		return "true"
	}
	return "…"
}

// isValue reports whether a word looks like a value of the key rather than the next of a sentence.
func isValue(key, word string) bool {
	switch key {
	case "pattern":
		return strings.ContainsAny(word, `^$[]\*+(){}|`)
	case "format":
		return formats[word]
	case "type":
		return slices.Contains(jsonTypes, word)
	case "uniqueItems", "readOnly", "writeOnly":
		return word == "true" || word == "false"
	case "default", "example":
		return numeral.MatchString(word) || word == "true" || word == "false"
	case "title", "description", "anchor", "enum":
		return false
	}
	return numeral.MatchString(word)
}

// formats are those of JSON Schema (2020-12, validation, section 7.3).
var formats = map[string]bool{
	"date-time": true, "date": true, "time": true, "duration": true, "email": true, "idn-email": true, "hostname": true,
	"idn-hostname": true, "ipv4": true, "ipv6": true, "uri": true, "uri-reference": true, "iri": true, "iri-reference": true,
	"uuid": true, "uri-template": true, "json-pointer": true, "relative-json-pointer": true, "regex": true,
}
