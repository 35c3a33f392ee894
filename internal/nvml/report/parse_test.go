package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	tests := map[string]struct{ document, problem string }{
		"a host without a library": {`{"problem":{"kind":"NoLibrary"}}`, ""},
		"a field of a later one":   {`{"gpus":[{"pci":"00000000:8F:00.0","colour":"green"}]}`, ""},
		"nothing":                  {``, "not JSON"},
		"half a document":          {`{"gpus":[{"pci":"0000:8f:00.0"`, "not JSON"},
		"another type":             {`{"gpus":[{"pci":"0000:8f:00.0","minor":"3"}]}`, "not JSON"},
		"two documents":            {`{}{}`, "something follows"},
		"no address":               {`{"gpus":[{"pci":"8f","uuid":"GPU-0"}]}`, "no address"},
		"neither address nor UUID": {`{"gpus":[{"name":"NVIDIA Thor"}]}`, "neither address nor UUID"},
		"the same UUID twice":      {`{"gpus":[{"uuid":"GPU-0"},{"uuid":"GPU-0"}]}`, "listed twice"},
		"the same GPU twice":       {`{"gpus":[{"pci":"0000:8f:00.0"},{"pci":"00000000:8F:00.0"}]}`, "listed twice"},
		"too many GPUs":            {`{"gpus":[` + strings.Repeat(`{"pci":"0000:00:00.0"},`, MaxGPUs) + `{"pci":"0000:00:00.0"}]}`, "more than"},
		"too many links":           {`{"gpus":[{"pci":"0000:00:00.0","nvLinks":[` + strings.Repeat(`{},`, maxNVLinks) + `{}]}]}`, "more links"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.document))
			if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("%v, want %q", err, test.problem)
			}
		})
	}
}

// Addresses are the kernel's, wherever the library has its own.
func TestParseNormalisesAddresses(t *testing.T) {
	host, err := Parse([]byte(`{"gpus":[{"pci":"00000000:8F:00.0","nvLinks":[
		{"active":true,"remotePCI":"00000001:C1:00.0"},{"active":true,"remotePCI":"FFFFFFFF:FF:FF.0"},{"remotePCI":"nowhere"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	gpu := host.GPUs[0]
	got := []string{gpu.PCI, gpu.NVLinks[0].RemotePCI, gpu.NVLinks[1].RemotePCI, gpu.NVLinks[2].RemotePCI}
	if diff := cmp.Diff([]string{"0000:8f:00.0", "0001:c1:00.0", "ffffffff:ff:ff.0", ""}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"library":"libnvidia-ml.so.1","driverVersion":"580.105.08","gpus":[{"pci":"0000:17:00.0","memory":{"totalMiB":81559,"usedMiB":4},"nvLinks":[{"index":0,"active":true,"remote":"Switch","remotePCI":"0000:05:00.0","mbps":26562}],"mig":{"enabled":true,"devices":[{"gpuInstance":2,"computeInstance":0,"profile":"3g.40gb"}]}}]}`))
	f.Add([]byte(`{"problem":{"kind":"NoDriver","message":"x"},"unaddressed":[{"call":"nvmlDeviceGetHandleByIndex_v2","code":15}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		host, err := Parse(data)
		if err != nil {
			return
		}
		printed, err := json.Marshal(host)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("what was printed cannot be read: %v", err)
		}
		if diff := cmp.Diff(host, again, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
