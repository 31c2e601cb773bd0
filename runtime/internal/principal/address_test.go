package principal

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// proxies are the trusted networks of the tests.
var proxies = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ff::/48"),
}

func requestFrom(peer string, forwarded ...string) *http.Request {
	return &http.Request{RemoteAddr: peer, URL: &url.URL{Path: "/mcp"},
		Header: http.Header{"X-Forwarded-For": forwarded,
			"Forwarded": {"for=198.51.100.66"}, "X-Real-Ip": {"198.51.100.66"}}}
}

func TestAddressIsThePeersOrForwardedByTrustedProxies(t *testing.T) {
	for _, test := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:1234", nil, "192.0.2.1"},
		{"192.0.2.1:1234", []string{"198.51.100.7"}, "192.0.2.1"},
		{"192.0.2.1", nil, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:1234", nil, "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:1234", nil, "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:1234", nil, "fe80::/64"},
		{"@", nil, "unknown address"},
		{"", []string{"198.51.100.7"}, "unknown address"},

		{"10.0.0.1:80", nil, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7"}, "198.51.100.7"},
		{"[::ffff:10.0.0.1]:80", []string{"198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"198.51.100.7:5000"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"[2001:db8::7]:5000"}, "2001:db8::/64"},
		{"[2001:db8:ff::1]:80", []string{" 198.51.100.7 , 10.0.0.2,\t2001:db8:ff::2 "}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"203.0.113.9, 198.51.100.7", "10.0.0.2, 10.0.0.3"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:80", []string{"198.51.100.7, unknown"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"10.0.0.1:80", []string{"198.51.100.7,"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{" , 198.51.100.7,,\t, 10.0.0.2, "}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"203.0.113.9,,198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"198.51.100.7", "", ",,"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"", " , "}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, [2001:db8:ff::2]"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"[2001:db8::7]"}, "2001:db8::/64"},
		{"10.0.0.1:80", []string{"[::ffff:198.51.100.7]"}, "198.51.100.7"},
		{"10.0.0.1:80", []string{"198.51.100.7, [10.0.0.2]"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, []"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, [[2001:db8:ff::2]]"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, 2001:db8:ff::2]"}, "10.0.0.1"},
		{"10.0.0.1:80", []string{"198.51.100.7, [2001:db8:ff::2"}, "10.0.0.1"},
	} {
		got := countedAs(clientAddress(requestFrom(test.peer, test.forwarded...), proxies))
		if got != test.want {
			t.Errorf("%s, %q: %s, not %s", test.peer, test.forwarded, got, test.want)
		}
		if got := clientAddress(requestFrom(test.peer, test.forwarded...), nil); test.peer != "" &&
			got.IsValid() && !strings.Contains(test.peer, got.String()) {
			t.Errorf("%s, %q: %s without a trusted proxy", test.peer, test.forwarded, got)
		}
	}
}

// A client chooses what it sends, and how many lines of it. Proxies append to the last line, or a
// line of their own, in each form of an address. The client cannot change the address for which it
// counts.
func TestClientCannotChooseItsAddress(t *testing.T) {
	address := rapid.SampledFrom([]string{"198.51.100.66", "10.0.0.66", "2001:db8:ff::66", "::1",
		"::ffff:10.0.0.66", "unknown", "_hidden", "", " ", "10.0.0.66:1", "\x00", "1.2.3.4,5"})
	client := rapid.SampledFrom([]string{"192.0.2.1", "2001:db8::1", "127.0.0.1"})
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(address, 0, 6).Draw(t, "line"), ",")
		}), 0, 4).Draw(t, "sent")
		from := client.Draw(t, "client")
		peer, forwarded := from, sent
		for hops := rapid.IntRange(0, 3).Draw(t, "proxies"); hops > 0; hops-- {
			written := netip.AddrPortFrom(netip.MustParseAddr(peer), 7).String()
			if !rapid.Bool().Draw(t, "port") {
				written = strings.TrimSuffix(written, ":7")
			}
			written += rapid.SampledFrom([]string{"", ",", " ,\t, "}).Draw(t, "empty parts")
			if len(forwarded) == 0 || rapid.Bool().Draw(t, "own line") {
				forwarded = append(forwarded[:len(forwarded):len(forwarded)], written)
			} else {
				forwarded = append([]string(nil), forwarded...)
				forwarded[len(forwarded)-1] += ", " + written
			}
			peer = "10.0.0." + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "proxy")
		}
		got := clientAddress(requestFrom(netip.AddrPortFrom(netip.MustParseAddr(peer), 7).String(),
			forwarded...), proxies)
		if got != netip.MustParseAddr(from) {
			t.Fatalf("%q from %s by %s: %s", forwarded, from, peer, got)
		}
	})
}

func FuzzForwardedFor(f *testing.F) {
	f.Add("198.51.100.66, 10.0.0.1", "unknown,")
	f.Add("::ffff:10.0.0.1%eth0", "[::1]:65536")
	f.Add(",,,,", "\r\n")
	f.Add("unknown", "198.51.100.66")
	f.Fuzz(func(t *testing.T, first, second string) {
		const client = "192.0.2.1"
		for _, peer := range []string{client + ":1", "10.0.0.1:1"} {
			forwarded := []string{first, second}
			if peer != client+":1" {
				forwarded = append(forwarded, client)
			}
			if got := clientAddress(requestFrom(peer, forwarded...), proxies); got.String() != client {
				t.Errorf("%q by %s: %s", forwarded, peer, got)
			}
		}
		if got := clientAddress(requestFrom("10.0.0.1:1", first, second), proxies); got.Is4In6() ||
			got.Zone() != "" || !got.IsValid() {
			t.Errorf("%q, %q: %s", first, second, got)
		}
	})
}
