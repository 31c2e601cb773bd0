package chain

import "fmt"

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	// Missing means that records between others are missing, or a whole chain that another one
	// names.
	Missing Kind = "missing"
	// CutOff means that a chain ends before a checkpoint of it, or before the record that the next
	// chain names.
	CutOff Kind = "cut off"
	// Altered means that a line is not as a chain wrote it.
	Altered Kind = "altered"
	// Reordered means that a record is not at its original place.
	Reordered Kind = "reordered"
	// Duplicated means that a record occurs twice, or that another record has its number.
	Duplicated Kind = "duplicated"
	// Foreign means that no record of a chain, or no checkpoint, was made with this key.
	Foreign Kind = "foreign"
	// Unchained means that records belong to no chain and cannot be verified.
	Unchained Kind = "unchained"
	// Empty means that the trail has no record to verify with the key.
	Empty Kind = "empty"
	// Disordered means that there are too many findings, and the rest was not verified.
	Disordered Kind = "disordered"

	// Torn means that a crash left a part of a line, which no caller got an acknowledgement for. It
	// is no sign of tampering.
	Torn Kind = "torn"
	// Unproven means that a record is older than the verified range, and the record before it is
	// gone. A checkpoint proves the records after it, not the ones that it counts. It is no sign of
	// tampering: a deleted file leaves one of these for each chain.
	Unproven Kind = "unproven"
	// NoOutcome means that a call has an intent and no outcome. The server was killed or lost its
	// sink before the handler ended, or the call still runs. It is no sign of tampering: a record
	// that was taken from a chain is Missing or CutOff as well.
	NoOutcome Kind = "no outcome"
)

// Finding is one result of [Verify].
type Finding struct {
	Kind   Kind
	Source string // the file, or empty
	Line   int
	Chain  string
	Seq    int64 // of the record, or of the first missing one; or 0
	What   string
	Cure   string
}

// Tampering reports whether the finding is a sign of tampering.
func (f Finding) Tampering() bool {
	return f.Kind != Torn && f.Kind != Unproven && f.Kind != NoOutcome
}

// String returns one line: the place, the problem and the cure.
func (f Finding) String() string {
	text := string(f.Kind) + ": " + f.What
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

var cures = map[Kind]string{
	Missing: cureMissing, CutOff: cureMissing, Reordered: cureReordered, Disordered: cureReordered,
	Altered: "compare it with another copy of the trail; do not trust its content",
	Duplicated: "pass each file once, and a trail in one form; if the file itself has " +
		"duplicates, compare it with another copy",
	Foreign: "use the key of the server that wrote it; if this is the key, the record is forged",
	Unchained: "trust it only as far as its storage; if the trail is older than its chain, " +
		"pass --unchained",
	Torn:  "none needed: the record was never acknowledged",
	Empty: "check the input: an earlier verified trail has records, and a failed export has none",
	NoOutcome: "the server was killed, its sink failed, or the call is still running: find " +
		"out its effects before you repeat it",
	Unproven: "none needed, or pass an earlier checkpoint and the earlier files",
}
