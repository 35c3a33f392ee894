package main

import (
	"archive/tar"
	"bytes"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Whatever is wrong with a recording, replaying it never panics, hangs or invents a device.
func TestSpoiledRecordings(t *testing.T) {
	for _, name := range sampledNames() {
		t.Run(name, func(t *testing.T) {
			whole := archive(t, name)
			h := unpack(t, whole)
			known := knownNames(t, h)
			for i, how := range slices.Sorted(maps.Keys(spoilers)) {
				if every := 3 + len(h.members)/largeTree; (uint64(i)+seed(name))%uint64(every) != 0 {
					continue
				}
				random := rand.New(rand.NewPCG(seed(name+how), 0))
				spoiled := h.clone()
				spoilers[how](&spoiled, random)
				known.check(t, how, spoiled.recording())
			}
			for range 4 {
				cut := rand.New(rand.NewPCG(seed(name), 1)).IntN(len(whole))
				if recording, err := host.ReadRecording(bytes.NewReader(whole[:cut])); err == nil {
					known.check(t, "the archive ends early", recording)
				}
			}
		})
	}
}

// sampledNames are the recordings for tests that take long.
func sampledNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		if seed(name)%sampleEvery == 0 {
			names = append(names, name)
		}
	}
	return names
}

// largeTree is the number of names in a recording for each of which it is spoiled in fewer ways, for the sake of time: the
// ways of a small one are a third of all, and other ones for its neighbour.
const largeTree = 2500

// The order of an archive's members tells nothing.
func TestShuffledRecordings(t *testing.T) {
	for _, name := range sampledNames() {
		t.Run(name, func(t *testing.T) {
			recording := recordings[name]()
			h := unpack(t, archive(t, name))
			random := rand.New(rand.NewPCG(seed(name), 0))
			random.Shuffle(len(h.members), func(i, j int) { h.members[i], h.members[j] = h.members[j], h.members[i] })
			random.Shuffle(len(h.commands), func(i, j int) { h.commands[i], h.commands[j] = h.commands[j], h.commands[i] })
			want := detect.Detect(t.Context(), recording.Host(), detect.Options{}).Status
			got := detect.Detect(t.Context(), h.recording().Host(), detect.Options{}).Status
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-in order +shuffled):\n%s", diff)
			}
		})
	}
}

func seed(text string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(text))
	return sum.Sum64()
}

// spoilers are the ways in which a recording is spoiled, each in places that the random numbers choose.
var spoilers = map[string]func(*unpacked, *rand.Rand){
	"the tree ends early": func(u *unpacked, r *rand.Rand) { u.members = u.members[:r.IntN(len(u.members)+1)] },
	"a tenth is missing": func(u *unpacked, r *rand.Rand) {
		u.members = slices.DeleteFunc(u.members, func(member) bool { return r.IntN(10) == 0 })
	},
	"half is missing": func(u *unpacked, r *rand.Rand) {
		u.members = slices.DeleteFunc(u.members, func(member) bool { return r.IntN(2) == 0 })
	},
	"files are empty":            files(func(string, *rand.Rand) string { return "" }),
	"files end early":            files(func(text string, r *rand.Rand) string { return text[:r.IntN(len(text)+1)] }),
	"numbers are huge":           files(func(string, *rand.Rand) string { return "18446744073709551616\n" }),
	"numbers are the largest":    files(func(string, *rand.Rand) string { return "18446744073709551615\n" }),
	"numbers are negative":       files(func(string, *rand.Rand) string { return "-9223372036854775808\n" }),
	"numbers in lines are huge":  files(func(text string, r *rand.Rand) string { return strings.ReplaceAll(text, "1", "99999999") }),
	"files are no text":          files(func(text string, r *rand.Rand) string { return garbage(r, len(text)) }),
	"bytes of files are changed": files(flipBytes),
	"files are exchanged": func(u *unpacked, r *rand.Rand) {
		r.Shuffle(len(u.members), func(i, j int) {
			if a, b := &u.members[i], &u.members[j]; a.kind == tar.TypeReg && b.kind == tar.TypeReg && r.IntN(8) == 0 {
				a.content, b.content = b.content, a.content
			}
		})
	},
	"links lead to themselves": links(func(m member, _ *rand.Rand) string { return path.Base(m.name) }),
	"links lead in a circle":   links(func(m member, _ *rand.Rand) string { return "../" + path.Base(path.Dir(m.name)) }),
	"links lead to the root":   links(func(member, *rand.Rand) string { return "/" }),
	"links lead nowhere":       links(func(member, *rand.Rand) string { return "../../../../../nowhere" }),
	"files are folders": func(u *unpacked, r *rand.Rand) {
		for i := range u.members {
			if u.members[i].kind == tar.TypeReg && r.IntN(4) == 0 {
				u.members[i].kind = tar.TypeDir
			}
		}
	},
	"tools end early":                outputs(func(text string, r *rand.Rand) string { return text[:r.IntN(len(text)+1)] }),
	"tools print nothing":            outputs(func(string, *rand.Rand) string { return "" }),
	"tools print no text":            outputs(func(text string, r *rand.Rand) string { return garbage(r, len(text)) }),
	"tools print changed bytes":      outputs(flipBytes),
	"tools print huge numbers":       outputs(func(text string, _ *rand.Rand) string { return strings.ReplaceAll(text, "1", "99999999") }),
	"tools print everything twice":   outputs(func(text string, _ *rand.Rand) string { return text + text }),
	"tools print marks of XML":       outputs(insert("</gpu>", "<gpu id=\"00000000:FE:00.0\">", "<![CDATA[", "&#0;", "<")),
	"tools print marks of JSON":      outputs(insert("{", "}", "[", "]", "\"", "null", ",", "1e999")),
	"tools print each other's words": exchangeOutputs,
	"tools fail": func(u *unpacked, r *rand.Rand) {
		for i := range u.commands {
			u.commands[i].ExitCode = 1 + r.IntN(255)
		}
	},
}

// files changes every fourth file.
func files(change func(string, *rand.Rand) string) func(*unpacked, *rand.Rand) {
	return func(u *unpacked, r *rand.Rand) {
		for i := range u.members {
			if u.members[i].kind == tar.TypeReg && r.IntN(4) == 0 {
				u.members[i].content = change(u.members[i].content, r)
			}
		}
	}
}

// links changes every fourth link.
func links(target func(member, *rand.Rand) string) func(*unpacked, *rand.Rand) {
	return func(u *unpacked, r *rand.Rand) {
		for i := range u.members {
			if u.members[i].kind == tar.TypeSymlink && r.IntN(4) == 0 {
				u.members[i].content = target(u.members[i], r)
			}
		}
	}
}

// outputs changes what every tool prints.
func outputs(change func(string, *rand.Rand) string) func(*unpacked, *rand.Rand) {
	return func(u *unpacked, r *rand.Rand) {
		for i := range u.commands {
			u.commands[i].Stdout = change(u.commands[i].Stdout, r)
		}
	}
}

func exchangeOutputs(u *unpacked, r *rand.Rand) {
	r.Shuffle(len(u.commands), func(i, j int) {
		u.commands[i].Stdout, u.commands[j].Stdout = u.commands[j].Stdout, u.commands[i].Stdout
	})
}

// insert puts words into a text, some of them in the middle of others.
func insert(words ...string) func(string, *rand.Rand) string {
	return func(text string, r *rand.Rand) string {
		for range 1 + len(text)/500 {
			at := r.IntN(len(text) + 1)
			text = text[:at] + words[r.IntN(len(words))] + text[at:]
		}
		return text
	}
}

// flipBytes changes one byte in fifty, and at least one.
func flipBytes(text string, r *rand.Rand) string {
	changed := []byte(text)
	for range min(len(changed), 1+len(changed)/50) {
		changed[r.IntN(len(changed))] = byte(r.IntN(256))
	}
	return string(changed)
}

func garbage(r *rand.Rand, size int) string {
	text := make([]byte, size)
	for i := range text {
		text[i] = byte(r.IntN(256))
	}
	return string(text)
}

// FuzzReplay puts bytes in the place of a file's content, a link's target or a tool's output.
func FuzzReplay(f *testing.F) {
	hosts := slices.DeleteFunc(slices.Sorted(maps.Keys(recordings)), func(name string) bool {
		return countNames(recordings[name]().Host().Files, "/") > largeTree
	})
	for i := 0; i < len(hosts); i += sampleEvery {
		f.Add(uint8(i), uint16(7*i), "")
		f.Add(uint8(i), uint16(65535-i), "<gpu id=\"00000000:01:00.0\"><uuid>GPU is lost</uuid></gpu>")
	}
	type original struct {
		host  unpacked
		known names
	}
	originals := map[string]original{}
	f.Fuzz(func(t *testing.T, which uint8, place uint16, content string) {
		name := hosts[int(which)%len(hosts)]
		if _, ok := originals[name]; !ok {
			h := unpack(t, archive(t, name))
			originals[name] = original{h, knownNames(t, h)}
		}
		h, known := originals[name].host.clone(), originals[name].known
		if at := int(place) % (len(h.members) + 8*len(h.commands)); at < len(h.members) {
			h.members[at].content = content
		} else {
			h.commands[(at-len(h.members))/8].Stdout = content
		}
		known.check(t, "fuzzed", h.recording())
	})
}

// countNames counts what is in a folder and below it, links not followed.
func countNames(files host.Files, folder string) int {
	names, err := files.ReadDir(folder)
	if err != nil {
		return 0
	}
	count := len(names)
	for _, name := range names {
		below := path.Join(folder, name)
		if _, err := files.ReadLink(below); err != nil {
			count += countNames(files, below)
		}
	}
	return count
}

// names are the names that a device of a host may have.
type names struct {
	addresses, kernel map[string]bool
	// listed are the devices of the host unspoiled: where the kernel shows none, a tool may.
	listed map[v1alpha1.DeviceID]bool
}

func knownNames(t testing.TB, h unpacked) names {
	t.Helper()
	known := names{map[string]bool{}, map[string]bool{}, map[v1alpha1.DeviceID]bool{}}
	for _, m := range h.members {
		known.kernel[path.Base(m.name)] = true
		if path.Dir(m.name) == "/sys/bus/pci/devices" {
			known.addresses[path.Base(m.name)] = true
		}
	}
	status := detect.Detect(t.Context(), h.recording().Host(), detect.Options{}).Status
	for _, id := range ids(&status) {
		known.listed[id] = true
	}
	return known
}

// check detects, with tools and without, and fails where a backend panics or hangs, or a device is none of the host's.
func (n names) check(t *testing.T, how string, recording *host.Recording) {
	t.Helper()
	h := recording.Host()
	for _, commands := range []host.Commands{h.Commands, nil} {
		status := detect.Detect(t.Context(), &host.Host{Files: h.Files, Commands: commands}, detect.Options{}).Status
		for _, b := range status.Backends {
			if strings.HasPrefix(b.Message, "defect in the backend") || strings.HasPrefix(b.Message, "gave no answer") {
				t.Errorf("%s: backend %s: %s", how, b.Name, b.Message)
			}
		}
		for i := range status.Devices {
			if d := &status.Devices[i]; !n.has(d) {
				t.Errorf("%s: %s is none of the host's", how, d.ID)
			}
		}
		if h.Commands == nil {
			return
		}
	}
}

// has says whether the host has the device: at its address where the host shows its PCI bus, else by the kernel's name for it, or a part of that.
func (n names) has(d *v1alpha1.Device) bool {
	if d.PCI != nil && len(n.addresses) > 0 {
		return n.addresses[d.PCI.Address]
	}
	name := strings.TrimPrefix(string(d.ID), d.Vendor+"-")
	for {
		if n.kernel[name] || n.listed[d.ID] {
			return true
		}
		cut := strings.LastIndex(name, "-")
		if cut < 0 {
			return false
		}
		name = name[:cut]
	}
}
