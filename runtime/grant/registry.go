package grant

// Registry is where grants are kept, asked for and decided on. Its methods are called from many goroutines at once.
//
// Changes are recorded for the audit by who makes them, unless the registry is a [Recorder] that says otherwise.
type Registry interface {
	Keeper
	Requests
}

// Recorder is a registry that can record what it changes itself, each change in one transaction with its event. The event
// begins with what audit.WhoActs finds: who asked, and by which request.
type Recorder interface {
	// RecordsChanges reports whether it does. It does not change.
	RecordsChanges() bool
}
