package host

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// span is a part of a text with what replaces it.
type span struct {
	start, end int
	text       string
}

// replaceSpans replaces spans, which are in order and do not overlap, and has the rest rewritten.
func replaceSpans(text string, spans []span, rest func(string) string) string {
	if len(spans) == 0 {
		return rest(text)
	}
	var out strings.Builder
	at := 0
	for _, s := range spans {
		out.WriteString(rest(text[at:s.start]))
		out.WriteString(s.text)
		at = s.end
	}
	out.WriteString(rest(text[at:]))
	return out.String()
}

// rewrite replaces the identifiers in a text. What stands at a known place goes first, then what has the form of an
// identifier, then what was found to be one elsewhere; each looks only at what those before it left.
func (p *pseudonyms) rewrite(place, text string) string {
	layers := []func(string) []span{p.uuidSpans, p.colonSpans, p.wideSpans, p.hexSpans, p.otherSpans}
	var apply func(text string, layer int) string
	apply = func(text string, layer int) string {
		if layer == len(layers) || text == "" {
			return text
		}
		return replaceSpans(text, layers[layer](text), func(rest string) string { return apply(rest, layer+1) })
	}
	return replaceSpans(text, p.placedSpans(place, text), func(rest string) string { return apply(rest, 0) })
}

// uuidForm matches a UUID, also as systemd writes it in names of cgroups. What precedes it may be a letter: pod1b2c….
var uuidForm = regexp.MustCompile(`[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{12}`)

func (p *pseudonyms) uuidSpans(text string) []span {
	var spans []span
	for _, at := range uuidForm.FindAllStringSubmatchIndex(text, -1) {
		if at[1] < len(text) && isHexByte(text[at[1]]) {
			continue
		}
		if replacement, ok := p.uuid(text[at[0]:at[1]], text[at[2]:at[3]]); ok {
			spans = append(spans, span{at[0], at[1], replacement})
		}
	}
	return spans
}

// uuid replaces 32 hexadecimal digits, separated as a UUID or not at all. One of a single digit stands for none.
func (p *pseudonyms) uuid(value, separator string) (string, bool) {
	digits := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(value))
	if strings.Trim(digits, digits[:1]) == "" {
		return value, false
	}
	n := p.number(kindUUID, kindUUID, digits)
	replacement := strings.Join([]string{"00000000", "0000", "4000", "8000", fmt.Sprintf("%012x", n)}, separator)
	return matchCase(value, replacement), true
}

func matchCase(value, replacement string) string {
	if strings.ContainsAny(value, "ABCDEF") {
		return strings.ToUpper(replacement)
	}
	return replacement
}

func isHexByte(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// colonRun matches digits and colons, of which addresses of networks and fabrics are made.
var colonRun = regexp.MustCompile(`[0-9a-fA-F]*:[0-9a-fA-F:]*[0-9a-fA-F]`)

func (p *pseudonyms) colonSpans(text string) []span {
	var spans []span
	for _, at := range colonRun.FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		if end < len(text) && isWordByte(text[end]) {
			continue
		}
		if start > 0 && isWordByte(text[start-1]) { // a key before it: mac:02:42:…
			start += strings.IndexByte(text[start:end], ':') + 1
		}
		if replacement, ok := p.colonAddress(text[start:end]); ok {
			spans = append(spans, span{start, end, replacement})
		}
	}
	return spans
}

// colonAddress replaces a MAC address, a GUID, a GID or an IPv6 address.
func (p *pseudonyms) colonAddress(value string) (string, bool) {
	groups := strings.Split(value, ":")
	width := len(groups[0])
	uneven := slices.ContainsFunc(groups, func(group string) bool { return len(group) != width })
	bytes, err := hex.DecodeString(strings.Join(groups, ""))
	if err != nil || width == 0 || uneven {
		return p.ipv6(value)
	}
	switch {
	case width == 2 && len(bytes) == 6:
		return p.mac(value, ":")
	case width == 2 && (len(bytes) == 8 || len(bytes) == 20), width == 4 && (len(bytes) == 8 || len(bytes) == 16):
		p.gid(bytes)
		return matchCase(value, grouped(bytes, width)), true
	default:
		return p.ipv6(value)
	}
}

// mac replaces a MAC address by one that is administered locally. None and the broadcast address stay.
func (p *pseudonyms) mac(value, separator string) (string, bool) {
	digits := strings.ToLower(strings.ReplaceAll(value, separator, ""))
	if strings.Trim(digits, "0") == "" || strings.Trim(digits, "f") == "" {
		return value, false
	}
	n := p.number(kindMAC, kindMAC, digits)
	bytes := []byte{2, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)}
	return matchCase(value, strings.ReplaceAll(grouped(bytes, 2), ":", separator)), true
}

// gid replaces, in place, the identifiers in a GUID (8 bytes), a GID (16) or the hardware address of an IPoIB interface
// (20, of which the last 16 are a GID). A GID ends in a GUID, or in an IPv4 address.
func (p *pseudonyms) gid(bytes []byte) {
	if len(bytes) == 20 {
		clear(bytes[:4]) // flags and the number of a queue pair
		bytes = bytes[4:]
	}
	if len(bytes) == 16 {
		if address := netip.AddrFrom16([16]byte(bytes)); address.Is4In6() {
			copy(bytes[12:], p.ipv4(address.Unmap()).AsSlice())
			return
		}
		if prefix := bytes[:8]; prefix[0] != 0xfe { // the default prefix is fe80::
			p.guid(prefix)
		}
		bytes = bytes[8:]
	}
	p.guid(bytes)
}

func (p *pseudonyms) guid(bytes []byte) {
	binary.BigEndian.PutUint64(bytes, p.id(binary.BigEndian.Uint64(bytes)))
}

// id replaces a 64-bit id; 0 stands for none. The replacement has as many digits as most ids, in both bases.
func (p *pseudonyms) id(value uint64) uint64 {
	if value == 0 || value == 1<<64-1 {
		return value
	}
	p.ids[value] = true
	return 0x1000000000000000 + uint64(p.number(kindID, kindID, strconv.FormatUint(value, 16)))
}

// grouped writes bytes in hexadecimal with a colon after so many digits.
func grouped(bytes []byte, width int) string {
	digits := hex.EncodeToString(bytes)
	var groups []string
	for ; len(digits) >= width; digits = digits[width:] {
		groups = append(groups, digits[:width])
	}
	return strings.Join(groups, ":")
}

// ipv6 replaces an address that is one of a host's: link-local, unique local or global.
func (p *pseudonyms) ipv6(value string) (string, bool) {
	address, err := netip.ParseAddr(value)
	if err != nil || strings.Count(value, ":") < 2 {
		return value, false
	}
	if first := address.As16()[0]; !address.IsPrivate() && !address.IsLinkLocalUnicast() && first>>5 != 1 {
		return value, false
	}
	return fmt.Sprintf("2001:db8::%x", p.number(kindIPv6, kindIPv6, address.String())), true
}

// ipv4 replaces an address by one of those set aside for examples and benchmarks (RFC 5737, RFC 2544).
func (p *pseudonyms) ipv4(address netip.Addr) netip.Addr {
	if address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.As4()[0] == 255 {
		return address
	}
	n := p.number(kindIPv4, kindIPv4, address.String())
	if n < 255 {
		return netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})
	}
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16)&1, byte(n >> 8), byte(n)})
}

// hexRun matches a number that is long enough to be an id.
var hexRun = regexp.MustCompile(`(?:0[xX])?[0-9a-fA-F]{8,}`)

// hexSpans finds machine and container ids, and 64-bit ids that were found to be ones elsewhere.
func (p *pseudonyms) hexSpans(text string) []span {
	var spans []span
	for _, at := range hexRun.FindAllStringIndex(text, -1) {
		if at[0] > 0 && isWordByte(text[at[0]-1]) || at[1] < len(text) && isWordByte(text[at[1]]) {
			continue
		}
		if replacement, ok := p.hexWord(text[at[0]:at[1]]); ok {
			spans = append(spans, span{at[0], at[1], replacement})
		}
	}
	return spans
}

func (p *pseudonyms) hexWord(value string) (string, bool) {
	switch {
	case len(value) == 64:
		return fmt.Sprintf("%064x", p.number(kindContainer, kindContainer, value)), true
	case len(value) == 32:
		return p.uuid(value, "")
	}
	for _, base := range []int{16, 10} {
		if id, err := parseID(value, base); err == nil && p.ids[id] {
			return p.idText(value, base), true
		}
	}
	return value, false
}

func parseID(value string, base int) (uint64, error) {
	digits := value
	if base == 16 {
		digits = strings.TrimPrefix(strings.ToLower(value), "0x")
	}
	return strconv.ParseUint(digits, base, 64)
}

// idText replaces a 64-bit id in the base that it is written in.
func (p *pseudonyms) idText(value string, base int) string {
	id, err := parseID(value, base)
	switch {
	case err != nil:
		return p.serial(value)
	case base == 10:
		return strconv.FormatUint(p.id(id), 10)
	case strings.HasPrefix(strings.ToLower(value), "0x"):
		return value[:2] + matchCase(value[2:], fmt.Sprintf("%0*x", len(value)-2, p.id(id)))
	default:
		return matchCase(value, fmt.Sprintf("%0*x", len(value), p.id(id)))
	}
}

// otherForms match what needs a word before it to be known: a user's folder, an interface named after its MAC address, an
// instance of EC2, a MAC address with hyphens.
var otherForms = regexp.MustCompile(`/home/([^/\s"':,<]+)|\benx([0-9a-f]{12})\b|\b(i-[0-9a-f]{17}|i-[0-9a-f]{8})\b|\b((?:[0-9a-fA-F]{2}-){5}[0-9a-fA-F]{2})\b`)

func (p *pseudonyms) otherSpans(text string) []span {
	var spans []span
	for _, at := range otherForms.FindAllStringSubmatchIndex(text, -1) {
		for group := 1; 2*group < len(at); group++ {
			start, end := at[2*group], at[2*group+1]
			if start < 0 {
				continue
			}
			if replacement, ok := p.other(group, text[start:end]); ok {
				spans = append(spans, span{start, end, replacement})
			}
		}
	}
	return spans
}

func (p *pseudonyms) other(group int, value string) (string, bool) {
	switch group {
	case 1:
		return p.user(value), true
	case 2:
		return p.mac(value, "")
	case 3:
		n := p.number(kindInstance, kindInstance, value)
		return fmt.Sprintf("i-%0*x", len(value)-2, n), true
	default:
		return p.mac(value, "-")
	}
}

func (p *pseudonyms) user(value string) string {
	if isPlaceholder(value) {
		return value
	}
	return p.named(kindUser, "user", value)
}
