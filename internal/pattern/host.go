package pattern

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a pattern of hosts and ports. Either prefix is valid, and it holds addresses, or it
// holds names.
type Host struct {
	prefix netip.Prefix
	labels int    // how many labels stand before name: none, exactly one, or one and more (deep)
	name   string // in lower case; empty for "*" and "**"
	ports  ports
}

// deep is the number of labels of "**".
const deep = -1

// ports is an inclusive range. The zero ports are all.
type ports struct{ low, high uint16 }

func (p ports) all() bool            { return p == ports{} }
func (p ports) has(port uint16) bool { return p.all() || p.low <= port && port <= p.high }
func (p ports) covers(o ports) bool {
	return p.all() || !o.all() && p.low <= o.low && o.high <= p.high
}

func (p ports) String() string {
	switch {
	case p.all():
		return ""
	case p.low == p.high:
		return ":" + strconv.Itoa(int(p.low))
	}
	return fmt.Sprintf(":%d-%d", p.low, p.high)
}

// ParseHost reads a pattern of hosts. Its error is an [*Error].
func ParseHost(text string) (*Host, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	fail := func(at int, problem, cure string) (*Host, error) {
		return nil, &Error{text, at, problem, cure}
	}
	const named = "write host and port, for example example.com:443"
	if strings.Contains(text, "://") {
		return fail(0, "it is a URL", named)
	}
	host, port, at := text, "", -1
	bracketed := strings.HasPrefix(text, "[")
	if bracketed {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return fail(0, "a bracket is not closed", "write [2001:db8::1]:443")
		}
		host = text[1:end]
		if rest := text[end+1:]; rest != "" {
			if rest[0] != ':' {
				return fail(end+1, "no port follows the bracket", "write [2001:db8::1]:443")
			}
			port, at = rest[1:], end+2
		}
	} else if i := strings.IndexByte(text, ':'); i >= 0 && strings.LastIndexByte(text, ':') == i {
		host, port, at = text[:i], text[i+1:], i+1
	}
	if host, path, found := strings.Cut(text, "/"); found &&
		strings.Trim(path, ":-[]0123456789") != "" {
		return fail(len(host), "a host does not contain a path", named)
	}
	p := &Host{}
	if at >= 0 {
		low, high, isRange := strings.Cut(port, "-")
		if !isRange {
			high = low
		}
		l, err1 := parsePort(low)
		h, err2 := parsePort(high)
		if err1 != nil || err2 != nil {
			return fail(at, "a port is a number from 1 to 65535",
				"write example.com:443 or example.com:8000-8080")
		}
		if h < l {
			return fail(at, "a range of ports is reversed", "write the lower port first")
		}
		p.ports = ports{l, h}
	}
	start := 0
	if bracketed {
		start = 1
	}
	if prefix, ok, problem := parsePrefix(host); problem != "" {
		return fail(start, problem, "write an address, for example 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32")
	} else if ok {
		p.prefix = prefix
		return p, nil
	}
	if bracketed {
		return fail(1, "the brackets do not contain an IPv6 address",
			"write [2001:db8::1]:443, and names without brackets")
	}
	name := host
	switch {
	case name == "*":
		p.labels, name = 1, ""
	case name == "**":
		p.labels, name = deep, ""
	case strings.HasPrefix(name, "**."):
		p.labels, start, name = deep, 3, name[3:]
	case strings.HasPrefix(name, "*."):
		p.labels, start, name = 1, 2, name[2:]
	}
	if host != "*" && host != "**" {
		clean, problem := hostName(name)
		if problem != "" {
			return fail(start, problem,
				`write a name: example.com, *.example.com (one more label) or **.example.com (any number `+
					`of labels)`)
		}
		p.name = clean
	}
	return p, nil
}

// parsePrefix reads an address or a range of them, and reports whether text is one. What looks like
// a range and is none is a problem.
func parsePrefix(text string) (prefix netip.Prefix, ok bool, problem string) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return prefix, false, "it is not a range of addresses"
		case prefix.Addr().Is4In6():
			return prefix, false, "it is an IPv4 address inside IPv6"
		case prefix != prefix.Masked():
			return prefix, false, "the range " + text + " begins at " + prefix.Masked().String()
		}
		return prefix, true, ""
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false, ""
	}
	if addr.Zone() != "" {
		return netip.Prefix{}, false, "an address with a zone has a different meaning on each machine"
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true, ""
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, errors.New("no port")
	}
	return uint16(n), nil
}

// hostName returns a name in lower case and without the dot at its end, or what is wrong with it.
// Names that resolvers read as addresses in other spellings (127.1, 0x7f.0.0.1) are none: RFC 1123,
// section 2.1, and the URL Standard's "ends in a number".
func hostName(name string) (clean, problem string) {
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return "", "the name is empty"
	}
	if len(name) > 253 {
		return "", "the name is longer than 253 bytes"
	}
	last := ""
	for rest, more := name, true; more; {
		last, rest, more = strings.Cut(rest, ".")
		if last == "" || len(last) > 63 {
			return "", "a label has 1 to 63 characters"
		}
		for i := range len(last) {
			switch c := last[i]; {
			case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' ||
				c == '_':
			case c >= 0x80:
				return "", "a name outside ASCII has several spellings: write it in Punycode (xn--…)"
			case c == '*':
				return "", `"*" and "**" are whole labels, at the beginning`
			default:
				return "", "a label contains letters, digits, hyphens and underscores"
			}
		}
	}
	if c := last[0]; '0' <= c && c <= '9' && numeric(last) {
		return "", "some programs parse a name that ends in a number as an address"
	}
	return strings.ToLower(name), ""
}

func numeric(label string) bool {
	if digits, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Canonical returns the text of the pattern as it is stored and compared.
func (p *Host) Canonical() string {
	if !p.prefix.IsValid() {
		return [...]string{"**", "", "*"}[p.labels+1] + p.dotted() + p.ports.String()
	}
	text := p.prefix.String()
	if p.prefix.IsSingleIP() {
		text = p.prefix.Addr().String()
	}
	if p.prefix.Addr().Is6() && !p.ports.all() {
		text = "[" + text + "]"
	}
	return text + p.ports.String()
}

// dotted is the name, with a dot before it if labels precede it.
func (p *Host) dotted() string {
	if p.labels == 0 || p.name == "" {
		return p.name
	}
	return "." + p.name
}

// Match reports whether the pattern holds an endpoint. Port 0 is a port that is not known yet, and
// is in every range.
func (p *Host) Match(e Endpoint) bool {
	if e.Port != 0 && !p.ports.has(e.Port) {
		return false
	}
	if p.prefix.IsValid() {
		return e.Addr.IsValid() && p.prefix.Contains(e.Addr)
	}
	if e.Name == "" {
		return false
	}
	return p.holdsName(e.Name, 0)
}

// holdsName reports whether the pattern holds all names that have so many labels (deep: one or
// more) before name, which is empty for none.
func (p *Host) holdsName(name string, labels int) bool {
	if p.labels == 0 {
		return labels == 0 && name == p.name
	}
	before := name // what stands before the pattern's name
	if p.name != "" {
		var ok bool
		if before, ok = strings.CutSuffix(name, p.name); !ok {
			return false
		}
		if before != "" {
			if before, ok = strings.CutSuffix(before, "."); !ok {
				return false
			}
		}
	}
	if p.labels == deep {
		return before != "" || labels != 0
	}
	if before == "" {
		return labels == 1
	}
	return labels == 0 && !strings.Contains(before, ".")
}

// Covers reports whether p holds everything that other holds.
func (p *Host) Covers(other Pattern) bool {
	o, ok := other.(*Host)
	if !ok || !p.ports.covers(o.ports) || p.prefix.IsValid() != o.prefix.IsValid() {
		return false
	}
	if p.prefix.IsValid() {
		return p.prefix.Bits() <= o.prefix.Bits() && p.prefix.Contains(o.prefix.Addr())
	}
	return p.holdsName(o.name, o.labels)
}
