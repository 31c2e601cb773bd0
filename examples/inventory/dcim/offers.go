package dcim

import (
	"context"
	"fmt"
	"strings"
)

// ReconcileDNS asks for a comparison of the records of a zone with the names of devices.
//
//mcp:prompt action=view object=dnsrecord title="Reconcile DNS"
//mcp:param zone description="Which zone." minLength=1 maxLength=253
func (i *Inventory) ReconcileDNS(ctx context.Context, zone string) (string, error) {
	return fmt.Sprintf("List the DNS records of zone %s. Where a record has another name than the device that it points to, rename the device.", zone), nil
}

// Decommission asks for all that has to go with a device.
//
//mcp:prompt minrole=Manager action=delete object=device title="Decommission a device"
//mcp:param device description="Which device." minLength=1 maxLength=63
func (i *Inventory) Decommission(ctx context.Context, device string) (string, error) {
	return fmt.Sprintf("Find the DNS records that point to an address of device %s, say which they are, and remove the device once somebody has agreed.", device), nil
}

// Zone is the records of one zone, one a line.
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

// Sheet is one device, as text.
//
//mcp:resource uri=inventory://devices/{name} action=view object=device mimetype=text/plain constrained
func (i *Inventory) Sheet(ctx context.Context, name string) (string, error) {
	d, err := i.GetDevice(ctx, name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s at %s, %s\n", d.Name, d.Role, d.Site, d.Status), nil
}
