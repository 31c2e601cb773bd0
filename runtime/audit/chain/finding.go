package chain

import "fmt"

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	// Missing: records between others, or a whole chain that another one names, are not there.
	Missing Kind = "missing"
	// CutOff: a chain ends before where a checkpoint, or the chain after it, says that it was.
	CutOff Kind = "cut off"
	// Altered: a line is not what a chain wrote.
	Altered Kind = "altered"
	// Reordered: a record is not where it was written.
	Reordered Kind = "reordered"
	// Duplicated: a record is there twice, or another one has its number.
	Duplicated Kind = "duplicated"
	// Foreign: no record of a chain, or no checkpoint, is by this key.
	Foreign Kind = "foreign"
	// Unchained: records have no place in any chain, so that nothing vouches for them.
	Unchained Kind = "unchained"
	// Empty: there is no record that could be held against the key, and so nothing that was
	// verified.
	Empty Kind = "empty"
	// Disordered: so much is wrong that the rest was not looked at.
	Disordered Kind = "disordered"

	// Torn: a crash has left a part of a line, and no caller got an acknowledgement for it. It is
	// no sign of tampering.
	Torn Kind = "torn"
	// Unproven: a record is older than the range that was verified, and the record before it is
	// gone. A checkpoint proves the records after it, not the ones that it counts. It is no sign of
	// tampering: a deleted file leaves one of these for each chain.
	Unproven Kind = "unproven"
	// NoOutcome: a call has an intent, and no outcome. The server was killed or lost its sink
	// before the handler had ended, or the call still runs. It is no sign of tampering: a record
	// that was taken from a chain is Missing or CutOff as well.
	NoOutcome Kind = "no outcome"
)

// Finding is something that [Verify] found.
type Finding struct {
	Kind   Kind
	Source string // the file, and empty where there is none to name
	Line   int
	Chain  string
	Seq    int64 // the record's, or that of the first one that is missing; 0 where there is none
	What   string
	Cure   string
}

// Tampering reports whether an honest trail has no such thing.
func (f Finding) Tampering() bool {
	return f.Kind != Torn && f.Kind != Unproven && f.Kind != NoOutcome
}

// String is a line: where, what, and what to do.
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
	cureAltered   = "compare it with another copy of the trail; do not trust its content"
	cureReordered = "compare the order with another copy of the trail"
	cureTwice     = "pass each file once, and a trail in one form; if the file itself has " +
		"duplicates, compare it with another copy"
	cureForeign   = "use the key of the server that wrote it; if this is the key, the record is forged"
	cureUnchained = "trust it only as far as its storage; if the trail is older than its chain, " +
		"pass --unchained"
	cureTorn   = "none needed: the record was never acknowledged"
	cureForged = "compare it with another copy of the trail; pruning and deleting old files leave " +
		"no such record, so it may be forged"
	cureEmpty     = "check the input: an earlier verified trail has records, and a failed export has none"
	cureNoOutcome = "the server was killed, its sink failed, or the call is still running: find " +
		"out its effects before you repeat it"
	cureUnproven = "none needed, or pass an earlier checkpoint and the earlier files"
)
