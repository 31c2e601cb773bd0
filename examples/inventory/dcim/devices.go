package dcim

import (
	"context"
	"database/sql"
	"errors"
)

// Status is the state of a device.
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
	// Site is its location.
	Site string `json:"site"`
	// Role is its function.
	Role string `json:"role"`
	// Status is its state.
	Status Status `json:"status"`
}

// DeviceFilter narrows a list of devices. A field that is left out does not.
type DeviceFilter struct {
	// Site is their location.
	Site string `json:"site,omitempty" jsonschema:"maxLength=50"`
	// Status is their state.
	Status Status `json:"status,omitempty"`
}

// NewDevice is a device to add.
type NewDevice struct {
	// Name is its unique name.
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9-]+$,maxLength=63"`
	// Site is its location.
	Site string `json:"site" jsonschema:"minLength=1,maxLength=50"`
	// Role is its function.
	Role string `json:"role" jsonschema:"minLength=1,maxLength=50"`
	// Status is its state.
	Status Status `json:"status,omitempty" jsonschema:"default=planned"`
}

// DeviceChange changes a device. A field that is left out stays as it is.
type DeviceChange struct {
	// Name is the device.
	Name string `json:"name"`
	// Site is its new location.
	Site *string `json:"site,omitempty" jsonschema:"minLength=1,maxLength=50"`
	// Role is its new function.
	Role *string `json:"role,omitempty" jsonschema:"minLength=1,maxLength=50"`
	// Status is its new state.
	Status *Status `json:"status,omitempty"`
}

const (
	deviceColumns = "name, site, role, status"
	selectDevice  = "SELECT " + deviceColumns + " FROM device WHERE name = ? AND "
)

func scanDevice(r row) (d Device, err error) {
	return d, r.Scan(&d.Name, &d.Site, &d.Role, &d.Status)
}

// ListDevices lists the devices that the caller's permission covers, by name.
//
//mcp:tool object=device readonly constrained
func (i *Inventory) ListDevices(ctx context.Context, in DeviceFilter) ([]Device, error) {
	covered, args, err := coveredDevices(ctx)
	if err != nil {
		return nil, err
	}
	return all(ctx, i.db, scanDevice, "SELECT "+deviceColumns+
		" FROM device WHERE ? IN ('', site) AND ? IN ('', status) AND "+covered+" ORDER BY name",
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
	return one(i.db.QueryRowContext(ctx, selectDevice+covered, append([]any{name}, args...)...),
		scanDevice)
}

// AddDevice adds a device.
//
//mcp:tool object=device destructive=false
func (i *Inventory) AddDevice(ctx context.Context, in NewDevice) (Device, error) {
	return one(i.db.QueryRowContext(ctx,
		"INSERT INTO device ("+deviceColumns+") VALUES (?, ?, ?, ?) RETURNING "+deviceColumns,
		in.Name, in.Site, in.Role, in.Status), scanDevice)
}

// UpdateDevice changes the location, the function and the state of a device.
//
//mcp:tool object=device idempotent constrained
func (i *Inventory) UpdateDevice(ctx context.Context, in DeviceChange) (Device, error) {
	return i.change(ctx, in.Name, in.Name,
		"site = coalesce(?, site), role = coalesce(?, role), status = coalesce(?, status)",
		in.Site, in.Role, in.Status)
}

// RenameDevice renames a device. Its addresses stay assigned. It returns nothing, because a caller
// that may rename a device need not be allowed to view it.
//
//mcp:tool action=rename object=device constrained
//mcp:param name description="Its current name."
//mcp:param newName description="Its new name." pattern=^[a-z0-9-]+$ maxLength=63
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

// change changes a device that the caller's permission covers before and after the change.
func (i *Inventory) change(ctx context.Context, name, after, set string, args ...any) (_ Device,
	err error) {
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
	if _, err := one(tx.QueryRowContext(ctx, "UPDATE device SET "+set+" WHERE name = ? AND "+
		covered+" RETURNING "+deviceColumns, args...), scanDevice); err != nil {
		return Device{}, err
	}
	d, err := one(tx.QueryRowContext(ctx, selectDevice+covered, append([]any{after}, of...)...),
		scanDevice)
	if err != nil {
		return Device{}, err
	}
	return d, tx.Commit()
}
