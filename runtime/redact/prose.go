package redact

import "strings"

// verbs are the words that a message about a value goes on with behind its name: "api_key: is required",
// "password: must be at least 8 characters", "--token needs a value". No more than these: who chose one of them as a password
// has none, and any other word may be one.
var verbs = func() map[string]bool {
	of := map[string]bool{}
	for word := range strings.FieldsSeq(`is are was were be been has have had must should shall may might can cannot could will would do does did
		and or but if as at by for from in into of on to with without than then when while not no none neither only also both either
		instead again once twice here there now please flag flags option options argument arguments parameter parameters variable variables header headers
		the a an this that these those its it one two more less fewer too any all some each
		need needs needed require requires required want wants wanted expect expects expected got getting given use uses used using see
		missing empty blank invalid valid expired unknown unexpected unset set unsupported malformed wrong bad incorrect mismatch denied refused
		rejected revoked forbidden failed failure error disabled enabled optional ignored deprecated unauthorized unavailable changed rotated
		accepted allowed found parse parsing read reading value values string number integer boolean object array type enum const pattern format
		length minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems contains
		minContains maxContains minProperties maxProperties anyOf oneOf allOf dependentRequired additionalProperties validating`) {
		of[word] = true
	}
	return of
}()

// longestVerb is the length of the longest of verbs.
const longestVerb = len("additionalProperties")

// says reports whether a message goes on at the beginning of a text: one of verbs stands there, as a word of a
// sentence does, before white space, the end or a mark and one of these.
func says(s string) bool {
	end := 0
	for end < len(s) && end <= longestVerb && (lower(s[end] | 0x20)) {
		end++
	}
	if end == 0 || end > longestVerb || !wordCloses(s[end:]) {
		return false
	}
	var room [longestVerb]byte
	uncapital := append(room[:0], s[:end]...)
	uncapital[0] |= 0x20 // of the beginning of a sentence
	return verbs[s[:end]] || verbs[string(uncapital)]
}

// wordCloses reports whether a word of a sentence may end where a text begins.
func wordCloses(s string) bool {
	if s != "" && strings.IndexByte(".,:;!?)", s[0]) >= 0 {
		s = s[1:]
	}
	if s == "" || s[0] <= ' ' || strings.IndexByte("\"'`)]}", s[0]) >= 0 {
		return true
	}
	return s[0] == '\\' && len(s) > 1 && strings.IndexByte(`nrt"'`, s[1]) >= 0
}

// measure reports whether a value is a number or a duration that a name asks for: max_tokens=4096, session_timeout: 30m,
// "password_length":12.
func measure(name, value string) bool {
	const longest = len("999999999ms")
	if len(value) > longest || !quantity(name) {
		return false
	}
	value = strings.TrimRight(value, ".,")
	digits := strings.TrimLeft(value, "0123456789")
	switch digits {
	case "", "ns", "us", "ms", "s", "m", "h", "d":
		return len(value) > len(digits) && len(value)-len(digits) < 10
	}
	return false
}

// quantity reports whether a name ends in a word for what is counted or measured.
func quantity(name string) bool {
	for _, word := range [...]string{"tokens", "timeout", "ttl", "age", "lifetime", "expiry", "length", "interval", "count", "limit", "size", "attempts"} {
		if at := len(name) - len(word); at > 0 && strings.EqualFold(name[at:], word) {
			return true
		}
	}
	return false
}
