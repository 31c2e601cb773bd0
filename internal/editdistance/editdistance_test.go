package editdistance

import "testing"

func TestDistanceCountsCharacters(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"view", "veiw", 1},
		{"ab", "ba", 1}, {"abcd", "badc", 2}, {"ca", "abc", 3},
		{"é", "e", 1}, {"naïve", "naive", 1}, {"a", "日本", 2}, {"flaw", "lawn", 2},
	} {
		if got := Between(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := Between(test.b, test.a); got != test.want {
			t.Errorf("%q and %q: %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

func TestSuggestionsAreNear(t *testing.T) {
	host := []string{
		"dcim.view_device", "dcim.change_device", "dcim.napalm_read_device", "ipam.view_prefix",
	}
	for name, want := range map[string]string{
		"dcim.view_devise": "dcim.view_device", "dcim.napalm_raed_device": "dcim.napalm_read_device",
		"dcim.view_devices": "dcim.view_device", "extras.run_script": "", "": "", "x": "",
		"icim.view_device": "dcim.view_device",
	} {
		if got := Nearest(name, host, len(name)/3); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("b", []string{"d", "c", "e"}, 1); got != "c" {
		t.Errorf("of equally near names: %q", got)
	}
}
