package capability

import "context"

// Checker is a [Source] that checks its host. A server calls it at start, and for readiness. It
// checks a host without Check by the Capabilities of the User "mcpgen-start-check", who need not
// exist.
type Checker interface {
	// Check returns nil if the source can read all that its queries need. Its error is a
	// [ConfigurationError] if a table, a column or a grant is missing, or if a setting does not
	// fit the host: the server does not start. Any other error means that the host cannot be
	// reached: the server starts, is not ready, and calls Check again.
	Check(ctx context.Context) error
}

// ConfigurationError reports that a host cannot be read until somebody changes its tables, its
// grants or the settings of the source. Err names what is missing.
type ConfigurationError struct {
	Err error // what is missing
}

// Error returns the text of Err.
func (e *ConfigurationError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigurationError) Unwrap() error { return e.Err }

// Misconfigured returns err as a [ConfigurationError], and nil for nil.
func Misconfigured(err error) error {
	if err == nil {
		return nil
	}
	return &ConfigurationError{Err: err}
}
