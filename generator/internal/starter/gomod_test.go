package starter

import "testing"

// Only a released version can be required without a replacement.
func TestInitRequiresReleasedVersionsOnly(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.1.0": true, "v1.2.3-rc.1": true, "": false, "(devel)": false, "v0.0.0": false,
		"v1.2.3+dirty": false, "v0.0.0-20261124195106-d9a6eae81234": false,
		"v1.2.4-0.20261124195106-d9a6eae81234": false,
	} {
		if got := released(version); got != want {
			t.Errorf("%q is released: %t, want %t", version, got, want)
		}
	}
}
