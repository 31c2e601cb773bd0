package toolset

// Task is when a call runs as a task: a client that declares the extension
// io.modelcontextprotocol/tasks gets the id of the task at once, and reads the result later.
type Task string

// The values of [Task].
const (
	// TaskOptional: for clients that declare the extension. Others wait for the result.
	TaskOptional Task = "optional"
	// TaskRequired: clients that do not declare the extension cannot call the tool.
	TaskRequired Task = "required"
	// TaskAnswered: as TaskOptional, from the answer to the handler's first question on. Without a
	// question the client waits for the result.
	TaskAnswered Task = "answered"
)
