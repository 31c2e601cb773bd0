package dcim

import "context"

// Facts are what a device says about itself.
type Facts struct {
	// Vendor made the device.
	Vendor string `json:"vendor"`
	// Model is what the vendor calls it.
	Model string `json:"model"`
	// OSVersion is the software that it runs.
	OSVersion string `json:"osVersion"`
	// Uptime is for how many seconds it has been running.
	Uptime int64 `json:"uptime"`
}

// NapalmFacts returns the facts that a poller has last read from a device with NAPALM.
//
// The host may let somebody read them for some devices only, and this handler does not look at
// that: it is not marked constrained, and who holds the permission under a constraint is refused.
//
//mcp:tool minrole=Member action=napalm_read object=device readonly
//mcp:limit timeout=10s
func (i *Inventory) NapalmFacts(ctx context.Context, device string) (Facts, error) {
	return one(i.db.QueryRowContext(ctx, "SELECT vendor, model, os_version, uptime FROM facts WHERE device = ?", device), func(r row) (f Facts, err error) {
		return f, r.Scan(&f.Vendor, &f.Model, &f.OSVersion, &f.Uptime)
	})
}
