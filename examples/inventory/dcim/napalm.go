package dcim

import "context"

// Facts are facts that a device reports.
type Facts struct {
	// Vendor is the manufacturer.
	Vendor string `json:"vendor"`
	// Model is the name of the model.
	Model string `json:"model"`
	// OSVersion is the version of its operating system.
	OSVersion string `json:"osVersion"`
	// Uptime is the time since its start, in seconds.
	Uptime int64 `json:"uptime"`
}

// NapalmFacts returns the facts that a poller has last read from a device with NAPALM.
//
// The handler does not apply constraints, so it is not marked constrained. A caller whose
// permission has a constraint is refused.
//
//mcp:tool minrole=Member action=napalm_read object=device readonly facts=private,untrusted
//mcp:limit timeout=10s
func (i *Inventory) NapalmFacts(ctx context.Context, device string) (Facts, error) {
	const query = "SELECT vendor, model, os_version, uptime FROM facts WHERE device = ?"
	return one(i.db.QueryRowContext(ctx, query, device), func(r row) (f Facts, err error) {
		return f, r.Scan(&f.Vendor, &f.Model, &f.OSVersion, &f.Uptime)
	})
}
