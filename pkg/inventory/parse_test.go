package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSelector(t *testing.T) {
	tests := map[string][]string{
		"vendor=nvidia":                       {"h0", "h1", "t4"},
		"VENDOR == NVIDIA":                    {"h0", "h1", "t4"},
		"vendor!=nvidia, family!=tpu":         {"cpu", "npu", "gaudi"},
		"memory>=80GB":                        {"gaudi", "h0", "h1"},
		"memory>=80GiB":                       {"gaudi"},
		"memory>=79.6 GiB":                    {"gaudi", "h0", "h1"},
		"free<10.1GiB":                        {"t4"},
		"memory!=0MiB":                        {"core0", "core1", "gaudi", "h0", "h1", "t4"},
		"product~100":                         {"h0", "h1"},
		"product=*t?":                         {"t4"},
		"computeCapability>=7.5,usable=true":  {"h0", "t4"},
		"computeCapability<9":                 {"t4"},
		"health=unhealthy":                    {"h1"},
		"precision=FP8":                       {"h0", "h1"},
		"precision!=fp8,bandwidth>0GB/s":      {"t4"},
		"bandwidth>=3.35TB/s":                 {"h0", "h1"},
		"numaNode=0":                          {"h0"},
		"numaNode<=1":                         {"h0", "h1"},
		"id~05:00":                            {"core0", "core1"},
		"backend=gaudi,architecture=,driver=": nil,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			selects, err := ParseSelector(text)
			if want == nil {
				if err == nil {
					t.Error("no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, short(Pick(mixed().Status.Devices, selects))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfSelectorsNameThePosition(t *testing.T) {
	tests := map[string]string{
		"":                       "position 1: no field",
		"vendor=nvidia,":         "position 15: no field",
		"vendor=nvidia,>3":       "position 15: no field",
		"memory":                 `position 7: no operator after "memory"`,
		"vendor=amd, memory 80":  `position 20: no operator after "memory"`,
		"memory>=":               "position 9: no value after memory>=: write one",
		"vendor=nvidia,memori>1": `position 15: unknown field "memori": use one of architecture, backend, bandwidth, computeCapability`,
		"memory>=80":             `position 9: value "80" of memory: write a decimal number with a unit of MB, MiB, GB, GiB, TB, TiB`,
		"memory>=80 apples":      `position 9: value "80 apples" of memory`,
		"memory>=-1GiB":          `value "-1GiB"`,
		"memory>=1e3GiB":         `value "1e3GiB"`,
		"memory>=1.2.3GiB":       `value "1.2.3GiB"`,
		"memory>=99999999999TiB": "write a smaller number",
		"memory~80GB":            "position 7: operator ~ does not go with memory",
		"vendor>=nvidia":         "position 7: operator >= does not go with vendor: a text is compared by =, != or ~ (contains)",
		"numaNode=0x1":           "write a decimal number with no unit",
		"computeCapability>=x":   `position 20: value "x" of computeCapability: write numbers with points between them, such as 9.0`,
		"computeCapability~9":    "position 18: operator ~",
		strings.Repeat("x", 600): "position 1: a term of 600 bytes",
	}
	for text, want := range tests {
		t.Run(text[:min(len(text), 40)], func(t *testing.T) {
			if _, err := ParseSelector(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{"vendor=nvidia", "memory>=80GB,product~h100", "computeCapability>=9.0", "numaNode!=0", "a=b,,", "product=*[", "free>1e9TiB"} {
		f.Add(text)
	}
	devices := mixed().Status.Devices
	f.Fuzz(func(t *testing.T, text string) {
		selects, err := ParseSelector(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "position ") {
				t.Errorf("%q: no position in %v", text, err)
			}
			return
		}
		Pick(devices, selects)
	})
}

func TestTermIsWrittenAsItWasRead(t *testing.T) {
	for _, test := range [][2]string{{" memory >= 80 GB ", "memory>=80 GB"}, {"vendor=nvidia", "vendor==nvidia"}} {
		term, err := ParseTerm(test[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := term.String(); got != test[1] {
			t.Errorf("%q: %q, want %q", test[0], got, test[1])
		}
	}
}
