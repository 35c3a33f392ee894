package host

import (
	"cmp"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// placedSpans finds identifiers by where they stand: in a file of a known name, after a known key in what a file or a
// tool says, or in a format that is known. place is the file, or the command line; it is empty for what has no places, such
// as a path.
func (p *pseudonyms) placedSpans(place, text string) []span {
	if place == "" || strings.TrimSpace(text) == "" {
		return nil
	}
	var spans []span
	for _, format := range formats {
		if format.of.MatchString(place) {
			spans = append(spans, format.spans(p, place, text)...)
		}
	}
	if strings.HasPrefix(place, "/") {
		spans = append(spans, p.fileSpan(place, text)...)
	} else {
		spans = append(spans, p.csvSpans(place, text)...)
	}
	spans = append(spans, p.keyedSpans(place, text)...)
	spans = append(spans, p.ipv4Spans(place, text)...)
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	end := 0
	return slices.DeleteFunc(spans, func(s span) bool {
		if s.start < end || s.start == s.end {
			return true
		}
		end = s.end
		return false
	})
}

// formats are the files that hold identifiers in a format of their own.
var formats = []struct {
	of    *regexp.Regexp
	spans func(p *pseudonyms, place, text string) []span
}{
	{regexp.MustCompile(`^/etc/hosts$`), (*pseudonyms).hostsSpans},
	{regexp.MustCompile(`^/proc/cmdline$`), (*pseudonyms).cmdlineSpans},
	{regexp.MustCompile(`^/proc/([^/]+/)?(mountinfo|mounts)$`), (*pseudonyms).mountSpans},
	{regexp.MustCompile(`/node_desc$`), (*pseudonyms).nodeDescSpans},
	{regexp.MustCompile(`^/proc/\d+/cmdline$`), func(p *pseudonyms, _, text string) []span {
		return []span{{0, len(text), p.process(text)}}
	}},
}

// keyKinds say what identifier a key names. Keys are matched in lower case, without what separates their words. Sources: the
// kernel's files and vendors' tools (serial and pdi of nvidia-smi, unique_id and hive_id of amdgpu and KFD, node_guid of
// InfiniBand, server_id and command of Neuron).
var keyKinds = []struct {
	key  *regexp.Regexp
	kind string
}{
	{regexp.MustCompile(`(serial|serialnumber|serialno|serialnum|serialid|assettag)$`), kindSerial},
	{regexp.MustCompile(`^(sn|(device|board|product|module|node|chassis|card)sn|wwid|wwn|nguid|eui|eui64|subsysnqn|hostnqn|hostid|ttasicid)$`), kindSerial},
	{regexp.MustCompile(`^(uniqueid|pdi|(xgmi)?hiveid|xgmideviceid|serverid\d?|phys(port|switch)id)$|guid$`), kindID},
	{regexp.MustCompile(`uuid$`), kindUUID},
	{regexp.MustCompile(`^(hostname|nodename|computername|systemname|servername|fqdn)$`), kindHost},
	{regexp.MustCompile(`^(user|username|login|owner)$`), kindUser},
	{regexp.MustCompile(`^(processname|command|cmdline|commandline|cmd|podname|podnamespace|containername|jobname)$`), kindProcess},
}

func kindOf(place, key string) string {
	key = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(key))
	if strings.HasPrefix(place, "tt-") && key == "boardid" {
		return kindSerial // of Tenstorrent; NVIDIA's board_id is made of the PCI address
	}
	for _, k := range keyKinds {
		if k.key.MatchString(key) {
			return k.kind
		}
	}
	return ""
}

// fileSpan is the content of a file whose name says what it holds: /sys/class/dmi/id/product_serial.
func (p *pseudonyms) fileSpan(place, text string) []span {
	end := len(strings.TrimRight(text, " \t\r\n\x00"))
	start := end - len(strings.TrimLeft(text[:end], " \t"))
	return p.keyed(place, path.Base(place), text, start, end)
}

// keyedForms match a key and its value: in XML, in JSON, in an attribute, in lines of `Key : value` or KEY=value, in
// KFD's lines, and in nvidia-smi's list.
var keyedForms = []*regexp.Regexp{
	regexp.MustCompile(`<([A-Za-z][\w.-]{0,63})>([^<]+)</`),
	regexp.MustCompile(`"([A-Za-z][\w .-]{0,63})"\s*:\s*"((?:[^"\\]|\\.)*)"`),
	regexp.MustCompile(`"([A-Za-z][\w .-]{0,63})"\s*:\s*(\d+)`),
	regexp.MustCompile(`\b([A-Za-z][\w-]{0,63})="([^"]*)"`),
	regexp.MustCompile(`(?m)^[ \t|*-]*([A-Za-z][\w ./-]{0,63}?)[ \t]*[:=][ \t]*([^\s"].*?)[ \t|]*\r?$`),
	regexp.MustCompile(`(?m)^(unique_id|hive_id) (\d+)$`),
	regexp.MustCompile(`\((UUID): ([^)\s]+)\)`),
}

// ofPeople are the kinds that tools tell and that no file of the kernel does.
var ofPeople = map[string]bool{kindUser: true, kindProcess: true}

func (p *pseudonyms) keyedSpans(place, text string) []span {
	var spans []span
	for _, form := range keyedForms {
		for _, at := range form.FindAllStringSubmatchIndex(text, -1) {
			spans = append(spans, p.keyed(place, text[at[2]:at[3]], text, at[4], at[5])...)
		}
	}
	return spans
}

// keyed replaces a value by the kind that its key names; none where the key names none, or the value has a form that is replaced
// everywhere.
func (p *pseudonyms) keyed(place, key, text string, start, end int) []span {
	kind, value := kindOf(place, key), text[start:end]
	if kind == "" || ofPeople[kind] && strings.HasPrefix(place, "/") || isPlaceholder(value) {
		return nil
	}
	replacement := ""
	switch kind {
	case kindSerial:
		if hasForm(value) || isCloudTag(value) {
			return nil
		}
		replacement = p.serial(value)
	case kindID:
		if strings.Contains(value, ":") {
			return nil
		}
		replacement = p.idText(value, baseOf(key, value))
	case kindUUID:
		own := uuidPrefix.FindString(value)
		rest := strings.TrimPrefix(value, own)
		if id, err := parseID(rest, 16); hasForm(rest) || err == nil && p.ids[id] || isPlaceholder(rest) {
			return nil
		}
		replacement = own + p.serial(rest)
	case kindHost:
		replacement = p.host(value)
	case kindUser:
		replacement = p.user(value)
	case kindProcess:
		replacement = p.process(value)
	}
	return []span{{start, end, replacement}}
}

// uuidPrefix is what NVIDIA and AMD put before a UUID.
var uuidPrefix = regexp.MustCompile(`^(MIG-GPU-|GPU-|MIG-|NPU-)?`)

func hasForm(value string) bool {
	return uuidForm.MatchString(value) || len(value) == 32 && hexRun.FindString(value) == value
}

// isCloudTag says whether the value is what a cloud puts in a field of the firmware for all to see.
func isCloudTag(value string) bool {
	for _, evidence := range cloudEvidence {
		if evidence.value == value {
			return true
		}
	}
	return false
}

// baseOf is the base that a 64-bit id is written in: hexadecimal, but for hives' and what KFD says.
func baseOf(key, value string) int {
	decimal := strings.Trim(value, "0123456789") == ""
	if decimal && (strings.Contains(key, "hive") || len(value) > 16) {
		return 10
	}
	return 16
}

func (p *pseudonyms) process(value string) string {
	return p.named(kindProcess, "process", value)
}

var (
	ipv4Form = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
	// versionWords are what is said before a version, which may look like an address.
	versionWords = regexp.MustCompile(`(?i)ver|fw|firmware|bios|driver|release|rev|build|cuda|rocm|runtime|sdk|librar|nccl|package|kernel|module|boot`)
)

// ipv4Spans finds addresses, but not what looks like one after a word that speaks of versions.
func (p *pseudonyms) ipv4Spans(place, text string) []span {
	if strings.HasPrefix(place, "/") && versionWords.MatchString(path.Base(place)) {
		return nil
	}
	var spans []span
	for _, at := range ipv4Form.FindAllStringIndex(text, -1) {
		start, end := at[0], at[1]
		if start > 0 && (isWordByte(text[start-1]) || text[start-1] == '.') ||
			end < len(text) && (isWordByte(text[end]) || text[end] == '.' && end+1 < len(text) && isWordByte(text[end+1])) {
			continue
		}
		before := text[max(0, start-64):start]
		before = before[strings.LastIndexAny(before, "\n,;<")+1:]
		address, err := netip.ParseAddr(text[start:end])
		if err != nil || versionWords.MatchString(before) {
			continue
		}
		spans = append(spans, span{start, end, p.ipv4(address).String()})
	}
	return spans
}

// PCIHeaderSize is how many bytes of a PCI function's configuration space everybody may read; what follows can hold a serial
// number.
const PCIHeaderSize = 64

func isPCIConfig(name string) bool {
	return path.Base(name) == "config" && argumentForms[anyPCIAddress].MatchString(path.Base(path.Dir(name)))
}

// holdsBinaryIDs says whether a file holds identifiers in a form that is not taken apart here.
func holdsBinaryIDs(name string) bool {
	switch path.Base(name) {
	case "vpd", "vpd_pg80", "vpd_pg83", "inquiry", "edid", "mac-address", "local-mac-address", "kaslr-seed", "rng-seed":
		return true
	}
	return false
}
