package chain

import "fmt"

// The values of Finding.Kind.
const (
	// missing means that records between others are missing, or a whole chain that another one
	// names.
	missing = "missing"
	// cutOff means that a chain ends before a checkpoint of it, or before the record that the next
	// chain names.
	cutOff = "cut off"
	// altered means that a line is not as a chain wrote it.
	altered = "altered"
	// reordered means that a record is not at its original place.
	reordered = "reordered"
	// duplicated means that a record occurs twice, or that another record has its number.
	duplicated = "duplicated"
	// foreign means that no record of a chain, or no checkpoint, was made with this key.
	foreign = "foreign"
	// unchained means that records belong to no chain and cannot be verified.
	unchained = "unchained"
	// empty means that the trail has no record to verify with the key.
	empty = "empty"
	// disordered means that there are too many findings, and the rest was not verified.
	disordered = "disordered"

	// torn means that a crash left a part of a line, which no caller got an acknowledgement for. It
	// is no sign of tampering.
	torn = "torn"
	// unproven means that a record is older than the verified range, and the record before it is
	// gone. A checkpoint proves the records after it, not the ones that it counts. It is no sign of
	// tampering: a deleted file leaves one of these for each chain.
	unproven = "unproven"
	// noOutcome means that a call has an intent and no outcome. The server was killed or lost its
	// sink before the handler ended, or the call still runs. It is no sign of tampering: a record
	// that was taken from a chain is missing or cut off as well.
	noOutcome = "no outcome"
)

// Finding is one result of [Verify].
type Finding struct {
	// Kind is missing, cut off, altered, reordered, duplicated, foreign (of another key), unchained
	// (without a chain), empty (a trail without records of the key), disordered (too many findings),
	// torn (by a crash), unproven (the record before is gone) or no outcome (an intent alone).
	Kind   string
	Source string // the file, or empty
	Line   int
	Chain  string
	Seq    int64 // of the record, or of the first missing one; or 0
	What   string
	Cure   string
}

// Tampering reports whether the finding is a sign of tampering.
func (f Finding) Tampering() bool {
	return f.Kind != torn && f.Kind != unproven && f.Kind != noOutcome
}

// String returns one line: the place, the problem and the cure.
func (f Finding) String() string {
	text := f.Kind + ": " + f.What
	if f.Chain != "" {
		place := "chain " + f.Chain
		if f.Seq > 0 {
			place += fmt.Sprint(" seq ", f.Seq)
		}
		text = place + ": " + text
	}
	if f.Source != "" {
		text = fmt.Sprint(f.Source, ":", f.Line, ": ", text)
	}
	if f.Cure != "" {
		text += "; " + f.Cure
	}
	return text
}

const (
	cureMissing = "find the files or rows that have them; if older files were deleted as " +
		"configured, pass the last checkpoint before them with --since"
	cureReordered = "compare the order with another copy of the trail"
	cureForged    = "compare it with another copy of the trail; pruning and deleting old " +
		"files leave no such record, so it may be forged"
)

var cures = map[string]string{
	missing: cureMissing, cutOff: cureMissing, reordered: cureReordered, disordered: cureReordered,
	altered: "compare it with another copy of the trail; do not trust its content",
	duplicated: "pass each file once, and a trail in one form; if the file itself has " +
		"duplicates, compare it with another copy",
	foreign: "use the key of the server that wrote it; if this is the key, the record is forged",
	unchained: "trust it only as far as its storage; if the trail is older than its chain, " +
		"pass --unchained",
	torn:  "none needed: the record was never acknowledged",
	empty: "check the input: an earlier verified trail has records, and a failed export has none",
	noOutcome: "the server was killed, its sink failed, or the call is still running: find " +
		"out its effects before you repeat it",
	unproven: "none needed, or pass an earlier checkpoint and the earlier files",
}
