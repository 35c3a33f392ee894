package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// pseudonyms number the identifiers of a recording by kind, and give each its replacement.
type pseudonyms struct {
	// numbers is by kind and value, last the highest number given by scope, found the number of values by kind.
	numbers map[nameKey]int
	last    map[string]int
	found   map[string]int
	// wide are values that are replaced wherever they stand as a whole word: serial numbers and names of hosts. index has
	// them by their first bytes, the longest first.
	wide  map[string]string
	index map[string][]string
	// ids are the 64-bit ids, which are written in hexadecimal here and in decimal there.
	ids map[uint64]bool
	// reserved are words that mean something to a detector, so that no host's name is replaced in their place.
	reserved map[string]bool
}

type nameKey struct{ kind, value string }

// Kinds of identifiers, as the README of a recording counts them.
const (
	kindUUID      = "UUIDs and machine ids"
	kindMAC       = "MAC addresses"
	kindID        = "GUIDs and unique ids of devices and fabrics"
	kindContainer = "container ids"
	kindSerial    = "serial numbers"
	kindHost      = "host names"
	kindDomain    = "domain names"
	kindUser      = "user names"
	kindProcess   = "command lines of processes"
	kindInstance  = "ids of cloud instances"
	kindIPv4      = "IPv4 addresses"
	kindIPv6      = "IPv6 addresses"
	kindStep      = "names of mounted folders and sources"
	kindParameter = "values of kernel parameters"
)

// maxWide bounds the values that are looked for everywhere.
const maxWide = 10_000

func newPseudonyms(reserved map[string]bool) *pseudonyms {
	for _, word := range []string{"localhost", "linux", "gpu", "accelerator", "unknown", "none", "node", "host"} {
		reserved[word] = true
	}
	return &pseudonyms{
		numbers: map[nameKey]int{}, last: map[string]int{}, found: map[string]int{},
		wide: map[string]string{}, ids: map[uint64]bool{}, reserved: reserved,
	}
}

// number returns the number of a value, from 1, counted in its scope.
func (p *pseudonyms) number(kind, scope, value string) int {
	key := nameKey{kind, value}
	if n, ok := p.numbers[key]; ok {
		return n
	}
	p.last[scope]++
	p.found[kind]++
	p.numbers[key] = p.last[scope]
	return p.last[scope]
}

// named is a replacement that keeps no form: host-1.
func (p *pseudonyms) named(kind, stem, value string) string {
	return fmt.Sprintf("%s-%d", stem, p.number(kind, kind, value))
}

// spread has a value replaced wherever it is a whole word.
func (p *pseudonyms) spread(value, replacement string) {
	if _, ok := p.wide[value]; !ok && len(value) >= indexLength && len(p.wide) < maxWide {
		p.wide[value] = replacement
	}
}

// indexLength is how many first bytes the index tells values apart by: the shortest value that is replaced everywhere.
const indexLength = 4

// settle ends the collection: from here on, values are replaced wherever they are.
func (p *pseudonyms) settle() {
	p.index = map[string][]string{}
	for value := range p.wide {
		p.index[value[:indexLength]] = append(p.index[value[:indexLength]], value)
	}
	for _, values := range p.index {
		slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	}
}

// wideSpans finds the values that are replaced everywhere.
func (p *pseudonyms) wideSpans(text string) []span {
	if len(p.index) == 0 {
		return nil
	}
	var spans []span
	for at := 0; at+indexLength <= len(text); at++ {
		if at > 0 && isWordByte(text[at-1]) {
			continue
		}
		for _, value := range p.index[text[at:at+indexLength]] {
			end := at + len(value)
			if strings.HasPrefix(text[at:], value) && (end == len(text) || !isWordByte(text[end])) {
				spans = append(spans, span{at, end, p.wide[value]})
				at = end - 1
				break
			}
		}
	}
	return spans
}

func isWordByte(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// serial replaces a serial number by one of the same length and classes of characters, and has it replaced everywhere
// where it is long enough not to be another number by chance.
func (p *pseudonyms) serial(value string) string {
	if isPlaceholder(value) {
		return value
	}
	form := formOf(value)
	replacement := form.number(value, p.number(kindSerial, kindSerial+form.String(), value))
	digits := strings.ContainsAny(value, "0123456789")
	letters := strings.ContainsFunc(value, func(r rune) bool { return r > '9' })
	if len(value) >= 8 && digits || len(value) >= 6 && digits && letters {
		p.spread(value, replacement)
	}
	return replacement
}

// host replaces a host's name, with or without its domain, and has it replaced everywhere unless it is a word that
// means something else.
func (p *pseudonyms) host(value string) string {
	lower := strings.ToLower(value)
	if isPlaceholder(value) || strings.HasPrefix(lower, "localhost") || strings.HasPrefix(lower, "ip6-") {
		return value
	}
	label, domain, qualified := strings.Cut(lower, ".")
	replacement := p.named(kindHost, "host", label)
	if !p.reserved[label] {
		p.spread(label, replacement)
		if written, _, _ := strings.Cut(value, "."); written != label {
			p.spread(written, replacement)
		}
	}
	if !qualified {
		return replacement
	}
	away := p.named(kindDomain, "domain", domain) + ".invalid"
	if strings.Contains(domain, ".") {
		p.spread(domain, away)
	}
	return replacement + "." + away
}

// placeholders are what stands where there is no identifier.
var placeholders = []string{
	"n/a", "none", "unknown", "not specified", "not available", "not found", "not supported", "not applicable", "default string", "to be filled by o.e.m.",
	"system serial number", "chassis serial number", "board serial number", "unspecified", "null", "invalid", "insufficient permissions", "root",
}

func isPlaceholder(value string) bool {
	value = strings.ToLower(strings.Trim(value, "[]()<> \t\n\x00"))
	return strings.Trim(value, "0?-.:x") == "" || slices.Contains(placeholders, value)
}

// form is the classes of a text's characters: n for a first digit that is not zero, d for other digits, a or A for
// letters, h or H where all of them are hexadecimal, and any other character for itself.
type form []rune

func formOf(value string) form {
	lower, upper := 'a', 'A'
	if strings.IndexFunc(value, func(r rune) bool { return r > 'f' && r <= 'z' || r > 'F' && r <= 'Z' }) < 0 {
		lower, upper = 'h', 'H'
	}
	classes := form(value)
	for i, r := range classes {
		switch {
		case i == 0 && '1' <= r && r <= '9':
			classes[i] = 'n'
		case '0' <= r && r <= '9':
			classes[i] = 'd'
		case 'a' <= r && r <= 'z':
			classes[i] = lower
		case 'A' <= r && r <= 'Z':
			classes[i] = upper
		}
	}
	return classes
}

// String tells one form from another.
func (f form) String() string { return string(f) }

// formDigits are the digits of each class of characters in a form: the first one and their number.
var formDigits = map[rune]struct {
	first rune
	count int
}{'n': {'1', 9}, 'd': {'0', 10}, 'a': {'a', 26}, 'A': {'A', 26}, 'h': {'a', 6}, 'H': {'A', 6}}

// number writes a number in the form of a value, the last character counting fastest.
func (f form) number(value string, n int) string {
	out := []rune(value)
	for i := len(out) - 1; i >= 0; i-- {
		if !isASCIIWord(out[i]) {
			continue
		}
		digits := formDigits[f[i]]
		out[i] = digits.first + rune(n%digits.count)
		n /= digits.count
	}
	return string(out)
}

func isASCIIWord(r rune) bool { return r < 0x80 && isWordByte(byte(r)) }
