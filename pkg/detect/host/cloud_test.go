package host

import (
	"strings"
	"testing"
)

// someInstanceData has the keys of cloud-init's documentation. All but region and zone tells hosts apart.
const someInstanceData = `{"base64_encoded_keys": [], "ds": {"meta_data": {"public-keys": "ssh-ed25519 AAAA"}},
	"v1": {"availability_zone": "us-east-1b", "cloud_name": "aws", "instance_id": "i-0fea1", "local_hostname": "ip-10-0-0-4", "region": "us-east-1"}}`

func TestPlaceByCloudInit(t *testing.T) {
	for name, test := range map[string]struct{ data, region, zone string }{
		"a cloud":             {someInstanceData, "us-east-1", "us-east-1b"},
		"a cloud without":     {`{"v1": {"availability_zone": null, "cloud_name": "none", "region": null}}`, "", ""},
		"a region alone":      {`{"v1": {"region": "westus2"}}`, "westus2", ""},
		"another kind":        {`{"v1": {"region": "westus2", "availability_zone": 1}}`, "", ""},
		"cut off":             {someInstanceData[:200], "", ""},
		"nothing written yet": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			recording := NewRecording()
			if err := recording.AddFile(instanceData, test.data); err != nil {
				t.Fatal(err)
			}
			if region, zone := ReadPlace(recording.Host().Files); region != test.region || zone != test.zone {
				t.Errorf("got %q, %q", region, zone)
			}
			h, kept := Record(recording.Host())
			ReadPlace(h.Files)
			if region, zone := ReadPlace(kept.Host().Files); region != test.region || zone != test.zone {
				t.Errorf("recorded as %q, %q", region, zone)
			}
			content, err := kept.Host().Files.ReadFile(instanceData)
			if err != nil || strings.Contains(string(content), "AAAA") || strings.Contains(string(content), "i-0fea1") {
				t.Errorf("recorded %s, %v", content, err)
			}
		})
	}
	if region, zone := ReadPlace(NewRecording().Host().Files); region != "" || zone != "" {
		t.Errorf("no cloud-init: got %q, %q", region, zone)
	}
}
