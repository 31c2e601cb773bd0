package dcim

import (
	"context"
	"database/sql"
	"errors"
)

// Status is what a device is doing.
type Status string

// The states of a device.
const (
	StatusActive  Status = "active"
	StatusPlanned Status = "planned"
	StatusOffline Status = "offline"
)

// Device is one device.
type Device struct {
	// Name is unique.
	Name string `json:"name"`
	// Site is where it stands.
	Site string `json:"site"`
	// Role is what it is there for.
	Role string `json:"role"`
	// Status is what it is doing.
	Status Status `json:"status"`
}

// DeviceFilter narrows a list of devices; what is left out does not.
type DeviceFilter struct {
	// Site is where they stand.
	Site string `json:"site,omitempty" jsonschema:"maxLength=50"`
	// Status is what they are doing.
	Status Status `json:"status,omitempty"`
}

// NewDevice is what a device is made from.
type NewDevice struct {
	// Name is its name, which no other has.
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9-]+$,maxLength=63"`
	// Site is where it stands.
	Site string `json:"site" jsonschema:"minLength=1,maxLength=50"`
	// Role is what it is there for.
	Role string `json:"role" jsonschema:"minLength=1,maxLength=50"`
	// Status is what it is doing.
	Status Status `json:"status,omitempty" jsonschema:"default=planned"`
}

// DeviceChange names a device and what to change in it; what is left out stays.
type DeviceChange struct {
	// Name is which device.
	Name string `json:"name"`
	// Site is where it stands now.
	Site *string `json:"site,omitempty" jsonschema:"minLength=1,maxLength=50"`
	// Role is what it is there for now.
	Role *string `json:"role,omitempty" jsonschema:"minLength=1,maxLength=50"`
	// Status is what it is doing now.
	Status *Status `json:"status,omitempty"`
}

const deviceColumns = "name, site, role, status"

func scanDevice(r row) (d Device, err error) {
	return d, r.Scan(&d.Name, &d.Site, &d.Role, &d.Status)
}

// ListDevices lists the devices that are the caller's to see, in the order of names.
//
//mcp:tool object=device readonly constrained
func (i *Inventory) ListDevices(ctx context.Context, in DeviceFilter) ([]Device, error) {
	covered, args, err := coveredDevices(ctx)
	if err != nil {
		return nil, err
	}
	return all(ctx, i.db, scanDevice, "SELECT "+deviceColumns+" FROM device WHERE ? IN ('', site) AND ? IN ('', status) AND "+covered+" ORDER BY name",
		append([]any{in.Site, in.Status}, args...)...)
}

// GetDevice returns one device.
//
//mcp:tool object=device readonly constrained
func (i *Inventory) GetDevice(ctx context.Context, name string) (Device, error) {
	covered, args, err := coveredDevices(ctx)
	if err != nil {
		return Device{}, err
	}
	return one(i.db.QueryRowContext(ctx, "SELECT "+deviceColumns+" FROM device WHERE name = ? AND "+covered, append([]any{name}, args...)...), scanDevice)
}

// AddDevice adds a device.
//
//mcp:tool object=device destructive=false
func (i *Inventory) AddDevice(ctx context.Context, in NewDevice) (Device, error) {
	return one(i.db.QueryRowContext(ctx, "INSERT INTO device ("+deviceColumns+") VALUES (?, ?, ?, ?) RETURNING "+deviceColumns,
		in.Name, in.Site, in.Role, in.Status), scanDevice)
}

// UpdateDevice changes where a device stands, what for, and what it is doing.
//
//mcp:tool object=device idempotent constrained
func (i *Inventory) UpdateDevice(ctx context.Context, in DeviceChange) (Device, error) {
	return i.change(ctx, in.Name, in.Name, "site = coalesce(?, site), role = coalesce(?, role), status = coalesce(?, status)", in.Site, in.Role, in.Status)
}

// RenameDevice gives a device another name, and says nothing else of it: who may rename a device may
// not see it for that. Its addresses stay its own.
//
//mcp:tool action=rename object=device constrained
//mcp:param name description="Its name until now."
//mcp:param newName description="Its name from now on." pattern=^[a-z0-9-]+$ maxLength=63
func (i *Inventory) RenameDevice(ctx context.Context, name, newName string) error {
	_, err := i.change(ctx, name, newName, "name = ?", newName)
	return err
}

// DeleteDevice removes a device and its addresses.
//
//mcp:tool minrole=Manager object=device
func (i *Inventory) DeleteDevice(ctx context.Context, name string) error {
	return i.remove(ctx, "DELETE FROM device WHERE name = ?", name)
}

// change changes a device of the caller's, which may not become one that is not the caller's.
func (i *Inventory) change(ctx context.Context, name, after, set string, args ...any) (_ Device, err error) {
	covered, of, err := coveredDevices(ctx)
	if err != nil {
		return Device{}, err
	}
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return Device{}, err
	}
	defer func() {
		if undone := tx.Rollback(); !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, undone)
		}
	}()
	args = append(append(args, name), of...)
	if _, err := one(tx.QueryRowContext(ctx, "UPDATE device SET "+set+" WHERE name = ? AND "+covered+" RETURNING "+deviceColumns, args...), scanDevice); err != nil {
		return Device{}, err
	}
	d, err := one(tx.QueryRowContext(ctx, "SELECT "+deviceColumns+" FROM device WHERE name = ? AND "+covered, append([]any{after}, of...)...), scanDevice)
	if err != nil {
		return Device{}, err
	}
	return d, tx.Commit()
}
