package grant

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// resolver answers every question for an A record with the next of these lists, the last one again
// and again, and has no others.
func resolver(lists ...[]string) *net.Resolver {
	next := make(chan []string, len(lists))
	for _, l := range lists {
		next <- l
	}
	last := lists[len(lists)-1]
	return &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				for {
					var size [2]byte
					if _, err := io.ReadFull(server, size[:]); err != nil {
						return
					}
					query := make([]byte, binary.BigEndian.Uint16(size[:]))
					if _, err := io.ReadFull(server, query); err != nil {
						return
					}
					end := 12
					for query[end] != 0 {
						end += int(query[end]) + 1
					}
					end += 5
					var addrs []string
					if query[end-3] == 1 { // A
						select {
						case addrs = <-next:
						default:
							addrs = last
						}
					}
					answer := append([]byte{}, query[:end]...)
					copy(answer[2:], []byte{0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0})
					for _, a := range addrs {
						ip := netip.MustParseAddr(a).As4()
						answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4),
							ip[:]...)
					}
					answer = append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))),
						answer...)
					if _, err := server.Write(answer); err != nil {
						return
					}
				}
			}()
			return client, nil
		}}
}

// listen accepts connections at a port of the loopback, greets, and closes them.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestResolvedAddressesAreDecidedOnAgain(t *testing.T) {
	port := listen(t)
	for _, c := range []struct {
		name    string
		grants  []string
		host    string
		answers [][]string
		cause   Cause // none: it connects
	}{
		{"name and address", []string{"db.test:" + port, "127.0.0.0/8:" + port}, "db.test",
			[][]string{{"127.0.0.1"}}, ""},
		{"upper case and a dot", []string{"db.test:" + port, "127.0.0.1"}, "DB.test.",
			[][]string{{"127.0.0.1"}}, ""},
		{"name alone, loopback", []string{"db.test"}, "db.test", [][]string{{"127.0.0.1"}},
			NotPublic},
		{"name alone, metadata", []string{"**"}, "db.test", [][]string{{"169.254.169.254"}},
			NotPublic},
		{"name alone, several", []string{"**"}, "db.test",
			[][]string{{"10.0.0.1", "192.168.0.1", "100.64.0.1", "0.0.0.0"}}, NotPublic},
		{"one of several is granted", []string{"**", "127.0.0.1"}, "db.test",
			[][]string{{"10.0.0.1", "127.0.0.1"}}, ""},
		{"another port of the address", []string{"**", "127.0.0.1:1"}, "db.test",
			[][]string{{"127.0.0.1"}}, NotPublic},
		{"answers that change", []string{"**"}, "db.test", [][]string{{"127.0.0.2"}, {"127.0.0.1"}},
			NotPublic},
		{"the address alone", []string{"127.0.0.1:" + port}, "127.0.0.1", [][]string{{}}, ""},
		{"the address in IPv6", []string{"127.0.0.1:" + port}, "::ffff:127.0.0.1", [][]string{{}},
			""},
		{"an address by a name's grant", []string{"**"}, "127.0.0.1", [][]string{{}}, NoGrant},
		{"a name by an address's grant", []string{"0.0.0.0/0"}, "db.test",
			[][]string{{"127.0.0.1"}}, NoGrant},
		{"another spelling", []string{"0.0.0.0/0", "**"}, "0x7f.1", [][]string{{"127.0.0.1"}},
			Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			for _, g := range c.grants {
				lines = append(lines, "net.connect "+g)
			}
			d := &Dialer{Decider: &Decider{Set: mustSet(t, lines...)},
				Resolver: resolver(c.answers...), Timeout: 10 * time.Second}
			for range 3 {
				conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(c.host, port))
				if c.cause == "" {
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(conn)
					conn.Close()
					if err != nil || string(text) != "hello" {
						t.Fatalf("%q, %v", text, err)
					}
					continue
				}
				var denied *Denied
				if !errors.As(err, &denied) || denied.Cause != c.cause ||
					denied.Kind != NetConnect || denied.Resource != net.JoinHostPort(c.host, port) {
					t.Fatalf("%v", err)
				}
				for _, list := range c.answers {
					for _, a := range list {
						if strings.Contains(err.Error(), a) {
							t.Errorf("the address is disclosed: %v", err)
						}
					}
				}
			}
		})
	}
}

func TestWhatIsDialledIsHeldAgainstTheNameThatWasDecidedOn(t *testing.T) {
	d := &Decider{Set: mustSet(t, "net.connect a.test:443", "net.connect [2001:db8::/32]:443",
		"net.connect [fe80::/10]")}
	named := pattern.Endpoint{Name: "a.test", Port: 443}
	for resolved, want := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700::1]:443": true, "[::ffff:8.8.8.8]:443": true,
		"[2001:db8::1]:443": true, "[fe80::1]:443": true,
		"8.8.8.8:80": false, "127.0.0.1:443": false, "[::1]:443": false,
		"[::ffff:127.0.0.1]:443": false, "[2001:db8::1]:80": false,
		"[fe80::1%eth0]:443": false, "/run/socket": false, "": false, "a.test:443": false,
	} {
		if err := d.decideAddress(named, "a.test", resolved); (err == nil) != want {
			t.Errorf("%s: %v", resolved, err)
		}
	}
	if err := d.decideAddress(pattern.Endpoint{Addr: netip.MustParseAddr("8.8.8.8"), Port: 443},
		"8.8.8.8:443", "8.8.8.8:443"); err == nil {
		t.Error("an address that no grant holds is allowed, since it is public")
	}
	var denied *Denied
	if _, err := (&Dialer{Decider: d}).DialContext(t.Context(), "tcp", "8.8.8.8"); !errors.As(err,
		&denied) || denied.Cause != Malformed {
		t.Errorf("an address without a port: %v", err)
	}
}

func TestDialersConnectOverTCPAndUDPOnly(t *testing.T) {
	d := &Dialer{Decider: &Decider{Set: mustSet(t, "net.connect **", "net.connect 0.0.0.0/0")}}
	for _, c := range [][2]string{{"unix", "/run/x"}, {"ip4:icmp", "127.0.0.1"}, {"tcp", "a.test"},
		{"tcp", "a.test:http"}, {"tcp", "https://a.test"}, {"tcp", "a.test:0"}, {"tcp", ":80"},
		{"tcp", ""}, {"tcp", "a.test:1:2"}} {
		if conn, err := d.DialContext(t.Context(), c[0], c[1]); err == nil {
			conn.Close()
			t.Errorf("%s is dialled", c)
		}
	}
	conn, err := d.DialContext(t.Context(), "udp", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var denied *Denied
	if _, err := d.DialContext(ctx, "tcp", "127.0.0.1:9"); err == nil || errors.As(err, &denied) {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestPublicAddressesAreThoseOfTheInternetAtLarge(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "::ffff:8.8.8.8": true, "2606:4700::1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false,
		"255.255.255.255": false,
		"::":              false, "::1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "fc00::1": false, "fe80::1": false, "ff02::1": false,
		"2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false,
		"fec0::1": false, "5f00::1": false, "fe80::1%eth0": false,
	} {
		if isPublic(netip.MustParseAddr(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestURLsOfOtherSchemesAreNamedAsSuch: who names one has not mistaken a port.
func TestURLsOfOtherSchemesAreNamedAsSuch(t *testing.T) {
	for named, message := range map[string]string{
		"file:///etc/passwd": "file: is not http or https",
		"ftp://a.test":       "ftp: is not http or https", "://a.test": "it is not an http or https URL",
		"a b://a.test": "it is not an http or https URL", strings.Repeat("x", 33) +
			"://a.test": "it is not an http or https URL", "https://": "name is empty",
		"http://": "name is empty",
	} {
		_, err := (&Decider{Set: mustSet(t, "net.connect **")}).Host(Host(named))
		var denied *Denied
		if !errors.As(err, &denied) || denied.Cause != Malformed || !strings.Contains(denied.Reason,
			message) {
			t.Errorf("%s: %v", named, err)
		}
	}
}

func TestHTTPClientsFollowRedirectsAsFarAsTheyAreGranted(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "page") })
	other := httptest.NewServer(page)
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		page(w, r)
	}))
	defer first.Close()
	t.Setenv("HTTP_PROXY", other.URL)
	t.Setenv("HTTPS_PROXY", other.URL)
	address := strings.TrimPrefix(first.URL, "http://")
	b, err := (&Decider{Set: mustSet(t, "net.connect "+address)}).Host(Host(first.URL + "/x"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := HTTP(With(t.Context(), called("url", b)), "url")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(text) != "page" {
		t.Errorf("%q, %v", text, err)
	}
	var denied *Denied
	if _, err := client.Get(first.URL + "/away"); !errors.As(err, &denied) ||
		denied.Resource != strings.TrimPrefix(other.URL, "http://") {
		t.Errorf("redirected to what is not granted: %v", err)
	}
}
