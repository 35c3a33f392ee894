package pci

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// pciTree is a function behind a port, with the files given.
func pciTree(t *testing.T, function, port map[string]string) (host.Files, Function) {
	t.Helper()
	const place = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
	recording := host.NewRecording()
	for name, text := range function {
		if err := recording.AddFile(place+"/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range port {
		if err := recording.AddFile("/sys/devices/pci0000:00/0000:00:01.0/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	f := Function{Path: place}
	f.Address, f.LinkWidth = "0000:01:00.0", 16
	return recording.Host().Files, f
}

func TestCheckPCI(t *testing.T) {
	header := "\xde\x10\x30\x23" + strings.Repeat("\x00", 60)
	ones := strings.Repeat("\xff", 64)
	full := map[string]string{"max_link_width": "16", "current_link_width": "16"}
	tests := map[string]struct {
		function, port map[string]string
		evidence       string
		fault, suspect string
		counters       map[string]int64
	}{
		"a link of full width":      {map[string]string{"power_state": "D0", "current_link_width": "16"}, full, "the PCI function answers, its link is up with 16 lanes", "", "", nil},
		"an older kernel":           {map[string]string{"current_link_width": "16"}, full, "the PCI function answers, its link is up with 16 lanes", "", "", nil},
		"a narrow link":             {map[string]string{"current_link_width": "8"}, full, "the PCI function answers, its link is up with 8 lanes", "", reasonLinkNarrow, nil},
		"a narrow link of a guest":  {map[string]string{"current_link_width": "8"}, map[string]string{"max_link_width": "32", "vendor": "0x1b36"}, "the PCI function answers, its link is up with 8 lanes", "", "", nil},
		"a narrow port":             {map[string]string{"current_link_width": "8"}, map[string]string{"max_link_width": "8"}, "the PCI function answers, its link is up with 8 lanes", "", "", nil},
		"off the bus":               {map[string]string{"current_link_width": "63", "config": ones}, full, "", ReasonOffBus, "", nil},
		"ones of another kind":      {map[string]string{"current_link_width": "63", "config": header}, full, "", "", "", nil},
		"link down":                 {map[string]string{"current_link_width": "0"}, map[string]string{"max_link_width": "16", "current_link_width": "0"}, "", reasonLinkDown, "", nil},
		"a virtual function":        {map[string]string{"current_link_width": "0", "config": "\xff\xff\xff\xff\x06\x04" + ones[6:]}, full, "the PCI function answers", "", "", nil},
		"no link":                   {map[string]string{"config": header}, nil, "the PCI function answers", "", "", nil},
		"no link and no answer":     {map[string]string{"config": ones}, nil, "", ReasonOffBus, "", nil},
		"nothing to see":            {map[string]string{}, nil, "", "", "", nil},
		"asleep":                    {map[string]string{"power_state": "D3cold", "power/runtime_status": "suspended", "current_link_width": "63", "config": ones}, full, "", "", "", nil},
		"without power":             {map[string]string{"power_state": "D3cold", "power/runtime_status": "active"}, full, "", reasonPoweredOff, "", nil},
		"counters of errors":        {map[string]string{"current_link_width": "16", "aer_dev_fatal": "Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2\n", "aer_dev_nonfatal": "TOTAL_ERR_NONFATAL 0\n"}, full, "the PCI function answers, its link is up with 16 lanes", "", "", map[string]int64{ReasonFatalErrors: 2, ReasonNonFatalErrors: 0}},
		"counters that are no such": {map[string]string{"current_link_width": "16", "aer_dev_fatal": "TOTAL_ERR_FATAL many\n"}, full, "the PCI function answers, its link is up with 16 lanes", "", "", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			check := check(pciTree(t, tc.function, tc.port))
			suspect := ""
			for _, s := range check.Suspicions {
				suspect = s.Reason
			}
			if check.Evidence != tc.evidence || check.Fault.Reason != tc.fault || suspect != tc.suspect {
				t.Errorf("%+v, want evidence %q, fault %q, suspicion %q", check, tc.evidence, tc.fault, tc.suspect)
			}
			if diff := cmp.Diff(tc.counters, check.Counters, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hanging is a file tree of which nothing is read before the release.
type hanging struct {
	reached func()
	release chan struct{}
}

func (h hanging) ReadDir(string) ([]string, error) {
	h.reached()
	<-h.release
	return nil, nil
}

func (hanging) ReadFile(string) ([]byte, error)  { return nil, nil }
func (hanging) ReadLink(string) (string, error)  { return "", nil }
func (hanging) RealPath(string) (string, error)  { return "", nil }
func (hanging) Stat(string) (fs.FileMode, error) { return 0, nil }

// A bus that hangs leaves the devices without a check, and the detection with an end.
func TestPCIChecksThatHang(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	h := &host.Host{Files: hanging{cancel, release}}
	if checks := Checks(ctx, h, map[string]bool{"0000:01:00.0": true}); checks != nil {
		t.Errorf("%v, want none", checks)
	}
}

func FuzzAERTotal(f *testing.F) {
	f.Add("Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 3\n")
	f.Add("TOTAL_ERR_NONFATAL -9223372036854775808")
	f.Fuzz(func(t *testing.T, text string) {
		if total, _ := parseAERTotal(text); total < 0 {
			t.Errorf("%d errors of the bus", total)
		}
	})
}
