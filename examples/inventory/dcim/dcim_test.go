package dcim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func of[T any](v T) *T { return &v }

func TestDevicesAreAddedChangedAndRemoved(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	d, err := i.AddDevice(ctx, NewDevice{Name: "leaf-3", Site: "oslo", Role: "switch",
		Status: StatusPlanned})
	if want := (Device{"leaf-3", "oslo", "switch", StatusPlanned}); err != nil || d != want {
		t.Fatalf("%v, %v, want %v", d, err, want)
	}
	if _, err := i.AddDevice(ctx, NewDevice{Name: "leaf-3", Site: "x", Role: "x",
		Status: StatusActive}); !errors.Is(err, ErrTaken) {
		t.Errorf("a second one of the name: %v", err)
	}
	if d, err = i.UpdateDevice(ctx, DeviceChange{Name: "leaf-3", Status: of(StatusActive),
		Site: of("berlin")}); err != nil ||
		d != (Device{"leaf-3", "berlin", "switch", StatusActive}) {
		t.Errorf("%v, %v", d, err)
	}
	if d, err = i.UpdateDevice(ctx, DeviceChange{Name: "leaf-3"}); err != nil ||
		d != (Device{"leaf-3", "berlin", "switch", StatusActive}) {
		t.Errorf("nothing is said, and changed: %v, %v", d, err)
	}
	if err := i.RenameDevice(ctx, "leaf-3", "leaf-1"); !errors.Is(err, ErrTaken) {
		t.Errorf("to a name that is taken: %v", err)
	}
	if err := i.RenameDevice(ctx, "leaf-3", "leaf-4"); err != nil {
		t.Error(err)
	}
	if err := i.DeleteDevice(ctx, "leaf-3"); !errors.Is(err, ErrNotFound) {
		t.Errorf("by its name of before: %v", err)
	}
	if err := i.DeleteDevice(ctx, "leaf-4"); err != nil {
		t.Error(err)
	}
	if d, err := i.GetDevice(ctx, "leaf-4"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, %v", d, err)
	}
	for name, filter := range map[string]DeviceFilter{
		"leaf-1 edge-1": {Site: "berlin"}, "leaf-2": {Status: StatusPlanned}, "": {Site: "berlin",
			Status: StatusPlanned}, "edge-1 edge-2 leaf-1 leaf-2": {},
	} {
		devices, err := i.ListDevices(ctx, filter)
		var names []string
		for _, d := range devices {
			names = append(names, d.Name)
		}
		want := strings.Fields(name)
		slices.Sort(want)
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%+v: %q, %v, want %q", filter, names, err, want)
		}
	}
}

func TestAddressesAndFactsStayWithARenamedDevice(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	if err := i.RenameDevice(ctx, "edge-2", "edge-two"); err != nil {
		t.Fatal(err)
	}
	if a, err := i.GetIPAddress(ctx, 2); err != nil || a != (Address{2, "192.0.2.2", "edge-two"}) {
		t.Errorf("%v, %v", a, err)
	}
	if f, err := i.NapalmFacts(ctx, "edge-two"); err != nil ||
		f != (Facts{"Example", "R1", "7.2", 3600}) {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := i.NapalmFacts(ctx, "edge-2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, %v", f, err)
	}
	if err := i.DeleteDevice(ctx, "edge-two"); err != nil {
		t.Fatal(err)
	}
	if a, err := i.GetIPAddress(ctx, 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("its address is left: %v, %v", a, err)
	}
}

func TestRecordsAreAddedChangedAndRemoved(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	r, err := i.AddDNSRecord(ctx, NewRecord{Zone: "example.org", Name: "a", Type: RecordAAAA,
		Value: "2001:db8::1"})
	if err != nil || r != (Record{r.ID, "example.org", "a", RecordAAAA, "2001:db8::1"}) {
		t.Fatalf("%v, %v", r, err)
	}
	if r, err = i.UpdateDNSRecord(ctx, r.ID, "2001:db8::2"); err != nil ||
		r.Value != "2001:db8::2" {
		t.Errorf("%v, %v", r, err)
	}
	if got, err := i.GetDNSRecord(ctx, r.ID); err != nil || got != r {
		t.Errorf("%v, %v, want %v", got, err, r)
	}
	if list, err := i.ListDNSRecords(ctx, of("example.org")); err != nil ||
		!slices.Equal(list, []Record{r}) {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := i.ListDNSRecords(ctx, nil); err != nil || len(list) != 5 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := i.ListDNSRecords(ctx, of("none")); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if text, err := i.Zone(ctx, "example.org"); err != nil || text != "a IN AAAA 2001:db8::2\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := i.DeleteDNSRecord(ctx, r.ID); err != nil {
		t.Error(err)
	}
	_, getting := i.GetDNSRecord(ctx, r.ID)
	_, changing := i.UpdateDNSRecord(ctx, r.ID, "x")
	for _, err := range []error{getting, changing, i.DeleteDNSRecord(ctx, r.ID)} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("of what is gone: %v", err)
		}
	}
}

func TestAddressesAreAddedChangedAndRemoved(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	a, err := i.AddIPAddress(ctx, "192.0.2.50", nil)
	if err != nil || a != (Address{a.ID, "192.0.2.50", ""}) {
		t.Fatalf("%v, %v", a, err)
	}
	if _, err := i.AddIPAddress(ctx, "192.0.2.50", of("edge-1")); !errors.Is(err, ErrTaken) {
		t.Errorf("a second time: %v", err)
	}
	for _, err := range []error{
		func() error { _, err := i.AddIPAddress(ctx, "192.0.2.51", of("none")); return err }(),
		func() error { _, err := i.UpdateIPAddress(ctx, a.ID, of("none")); return err }(),
		func() error { _, err := i.UpdateIPAddress(ctx, 999, of("edge-1")); return err }(),
		i.DeleteIPAddress(ctx, 999),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("of what there is not: %v", err)
		}
	}
	if a, err = i.UpdateIPAddress(ctx, a.ID, of("leaf-1")); err != nil || a.Device != "leaf-1" {
		t.Errorf("%v, %v", a, err)
	}
	if a, err = i.UpdateIPAddress(ctx, a.ID, nil); err != nil || a.Device != "" {
		t.Errorf("%v, %v", a, err)
	}
	if list, err := i.ListIPAddresses(ctx); err != nil || len(list) != 4 || list[3] != a {
		t.Errorf("%v, %v", list, err)
	}
	if err := i.DeleteIPAddress(ctx, a.ID); err != nil {
		t.Error(err)
	}
}

func TestReferencesAreChecked(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	want := Report{Devices: 4, Records: 4, Addresses: 3, Unnamed: []string{"192.0.2.9"}}
	if got, err := i.CheckReferences(ctx); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestPromptsAndSheetsSayWhatTheyAreAbout(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	if text, err := i.ReconcileDNS(ctx, "example.net"); err != nil ||
		!strings.Contains(text, "example.net") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := i.Decommission(ctx, "edge-1"); err != nil || !strings.Contains(text, "edge-1") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := i.Sheet(ctx, "edge-1"); err != nil ||
		text != "edge-1: router at berlin, active\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := i.Sheet(under(`{"site":"oslo"}`), "edge-1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("of another site: %q, %v", text, err)
	}
}

// Two who rename the same device: one of them finds that it is gone, and nobody finds the database
// locked.
func TestChangesAtATimeFollowOneAnother(t *testing.T) {
	i, ctx := newInventory(t), t.Context()
	const callers = 8
	errs := make([]error, callers)
	var wait sync.WaitGroup
	for n := range callers {
		wait.Go(func() { errs[n] = i.RenameDevice(ctx, "edge-1", fmt.Sprintf("edge-1%d", n)) })
	}
	wait.Wait()
	renamed := 0
	for _, err := range errs {
		switch {
		case err == nil:
			renamed++
		case !errors.Is(err, ErrNotFound):
			t.Error(err)
		}
	}
	if renamed != 1 {
		t.Errorf("%d have renamed it", renamed)
	}
}

func TestCancelledCallsEndAndFileThatIsNoneIsNamed(t *testing.T) {
	i := newInventory(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, listing := i.ListDevices(ctx, DeviceFilter{})
	_, checking := i.CheckReferences(ctx)
	_, reading := i.Zone(ctx, "example.net")
	for _, err := range []error{listing, checking, reading, i.RenameDevice(ctx, "edge-1", "x"),
		i.DeleteDNSRecord(ctx, 1)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "none", "inventory.db")
	if _, err := Open(t.Context(), file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}
