package dcim

import "context"

// RecordType is the type of a DNS record.
type RecordType string

// The types of records.
const (
	RecordA     RecordType = "A"
	RecordAAAA  RecordType = "AAAA"
	RecordCNAME RecordType = "CNAME"
)

// Record is one DNS record.
type Record struct {
	// ID is its number.
	ID int64 `json:"id"`
	// Zone is its zone.
	Zone string `json:"zone"`
	// Name is its name within the zone.
	Name string `json:"name"`
	// Type is its type.
	Type RecordType `json:"type"`
	// Value is the address or the name that it points to.
	Value string `json:"value"`
}

// NewRecord is a record to add.
type NewRecord struct {
	// Zone is its zone.
	Zone string `json:"zone" jsonschema:"format=hostname"`
	// Name is its name within the zone.
	Name string `json:"name" jsonschema:"minLength=1,maxLength=63"`
	// Type is its type.
	Type RecordType `json:"type"`
	// Value is the address or the name that it points to.
	Value string `json:"value" jsonschema:"minLength=1,maxLength=253"`
}

const recordColumns = "id, zone, name, type, value"

func scanRecord(r row) (d Record, err error) {
	return d, r.Scan(&d.ID, &d.Zone, &d.Name, &d.Type, &d.Value)
}

// ListDNSRecords lists the records of one zone or of all zones.
//
//mcp:tool object=dnsrecord readonly
//mcp:param zone description="The zone. Leave it out for all zones."
func (i *Inventory) ListDNSRecords(ctx context.Context, zone *string) ([]Record, error) {
	return all(ctx, i.db, scanRecord, "SELECT "+recordColumns+
		" FROM dns_record WHERE zone = coalesce(?, zone) ORDER BY zone, name, id", zone)
}

// GetDNSRecord returns one record.
//
//mcp:tool object=dnsrecord readonly
//mcp:param id description="The number of the record." minimum=1
func (i *Inventory) GetDNSRecord(ctx context.Context, id int64) (Record, error) {
	return one(i.db.QueryRowContext(ctx,
		"SELECT "+recordColumns+" FROM dns_record WHERE id = ?", id), scanRecord)
}

// AddDNSRecord adds a record.
//
//mcp:tool object=dnsrecord destructive=false facts=private,egress
func (i *Inventory) AddDNSRecord(ctx context.Context, in NewRecord) (Record, error) {
	return one(i.db.QueryRowContext(ctx, "INSERT INTO dns_record (zone, name, type, value) "+
		"VALUES (?, ?, ?, ?) RETURNING "+recordColumns, in.Zone, in.Name, in.Type,
		in.Value), scanRecord)
}

// UpdateDNSRecord changes the value of a record.
//
//mcp:tool object=dnsrecord idempotent facts=private,egress
//mcp:param id description="The number of the record." minimum=1
//mcp:param value description="The new address or name that it points to." minLength=1 maxLength=253
func (i *Inventory) UpdateDNSRecord(ctx context.Context, id int64, value string) (Record, error) {
	return one(i.db.QueryRowContext(ctx,
		"UPDATE dns_record SET value = ? WHERE id = ? RETURNING "+recordColumns, value, id),
		scanRecord)
}

// DeleteDNSRecord removes a record.
//
//mcp:tool object=dnsrecord
//mcp:param id description="The number of the record." minimum=1
func (i *Inventory) DeleteDNSRecord(ctx context.Context, id int64) error {
	return i.remove(ctx, "DELETE FROM dns_record WHERE id = ?", id)
}
