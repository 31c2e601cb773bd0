package dcim

import "context"

// Address is one address that is in use.
type Address struct {
	// ID is its number.
	ID int64 `json:"id"`
	// Address is the address itself.
	Address string `json:"address"`
	// Device is the name of the device that has it, or "".
	Device string `json:"device"`
}

const addressColumns = "id, address, coalesce(device, '')"

func scanAddress(r row) (a Address, err error) {
	return a, r.Scan(&a.ID, &a.Address, &a.Device)
}

// ListIPAddresses lists the addresses in use.
//
//mcp:tool object=ipaddress readonly
func (i *Inventory) ListIPAddresses(ctx context.Context) ([]Address, error) {
	return all(ctx, i.db, scanAddress, "SELECT "+addressColumns+" FROM ip_address ORDER BY id")
}

// GetIPAddress returns one address.
//
//mcp:tool object=ipaddress readonly
//mcp:param id description="The number of the address." minimum=1
func (i *Inventory) GetIPAddress(ctx context.Context, id int64) (Address, error) {
	return one(i.db.QueryRowContext(ctx,
		"SELECT "+addressColumns+" FROM ip_address WHERE id = ?", id), scanAddress)
}

// AddIPAddress adds an address.
//
//mcp:tool object=ipaddress destructive=false
//mcp:param address description="An IPv4 address." format=ipv4
//mcp:param device description="The device that has it. Leave it out for none."
func (i *Inventory) AddIPAddress(ctx context.Context, address string,
	device *string) (Address, error) {
	return one(i.db.QueryRowContext(ctx,
		"INSERT INTO ip_address (address, device) VALUES (?, ?) RETURNING "+addressColumns,
		address, device), scanAddress)
}

// UpdateIPAddress assigns an address to another device.
//
//mcp:tool object=ipaddress idempotent
//mcp:param id description="The number of the address." minimum=1
//mcp:param device description="The device that gets it. Leave it out for none."
func (i *Inventory) UpdateIPAddress(ctx context.Context, id int64,
	device *string) (Address, error) {
	return one(i.db.QueryRowContext(ctx,
		"UPDATE ip_address SET device = ? WHERE id = ? RETURNING "+addressColumns, device, id),
		scanAddress)
}

// DeleteIPAddress removes an address.
//
//mcp:tool object=ipaddress
//mcp:param id description="The number of the address." minimum=1
func (i *Inventory) DeleteIPAddress(ctx context.Context, id int64) error {
	return i.remove(ctx, "DELETE FROM ip_address WHERE id = ?", id)
}
