package dcim

import (
	"context"
	"fmt"
	"strings"
)

// ReconcileDNS compares the records of a zone with the names of devices.
//
//mcp:prompt action=view object=dnsrecord title="Reconcile DNS"
//mcp:param zone description="The zone." minLength=1 maxLength=253
func (i *Inventory) ReconcileDNS(ctx context.Context, zone string) (string, error) {
	return fmt.Sprintf("List the DNS records of zone %s. If the name of a record differs from that "+
		"of the device it points to, rename the device.", zone), nil
}

// Decommission removes a device and lists the records that depend on it.
//
//mcp:prompt minrole=Manager action=delete object=device title="Decommission a device"
//mcp:param device description="The device." minLength=1 maxLength=63
func (i *Inventory) Decommission(ctx context.Context, device string) (string, error) {
	return fmt.Sprintf("List the DNS records that point to an address of device %s. Ask for "+
		"approval. Then remove the device.", device), nil
}

// Zone has the records of a zone, one a line.
//
//mcp:resource uri=inventory://zones/{zone} action=view object=dnsrecord mimetype=text/plain
func (i *Inventory) Zone(ctx context.Context, zone string) (string, error) {
	records, err := i.ListDNSRecords(ctx, &zone)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%s IN %s %s\n", r.Name, r.Type, r.Value)
	}
	return b.String(), nil
}

// Sheet is a device as text.
//
//mcp:resource uri=inventory://devices/{name} action=view object=device mimetype=text/plain constrained
func (i *Inventory) Sheet(ctx context.Context, name string) (string, error) {
	d, err := i.GetDevice(ctx, name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s at %s, %s\n", d.Name, d.Role, d.Site, d.Status), nil
}
