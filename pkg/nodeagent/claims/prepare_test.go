package claims

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// inject is what the device plugin's answers would be on a host whose files are not looked at, with a variable that lists
// the devices, as some vendors have one.
func inject(mode injection.Mode, granted, node []v1alpha1.Device) (injection.Answer, error) {
	answer, err := injection.For(mode, granted, injection.Node{Devices: node})
	var uuids []string
	for i := range granted {
		uuids = append(uuids, granted[i].UUID)
	}
	answer.Environment = map[string]string{"VISIBLE": strings.Join(uuids, ",")}
	return answer, err
}

// newHandler serves a status, and writes specifications to a folder.
func newHandler(t *testing.T, w serving.Wanted) (*handler, string) {
	t.Helper()
	folder := t.TempDir()
	return &handler{
		options: &Options{Node: testNode, Inject: inject, CDIFolder: injection.Folder(folder)},
		wanted:  func() (serving.Wanted, bool) { return w, w.Status != nil },
		done:    func(string, string, string, error) {},
	}, folder
}

func TestPrepare(t *testing.T) {
	foreign := result{Request: "nic", Driver: "dra.net", Pool: "elsewhere", Device: "eth0"}
	h, folder := newHandler(t, wantedOf(statusOf(gpu(1), gpu(2), gpu(3))))
	claim := claimOf(resultFor("pair", 2), foreign, resultFor("one/large", 1))
	for range 2 { // the kubelet asks again after a start of its own
		got, err := h.prepare(claim)
		if err != nil {
			t.Fatal(err)
		}
		want := []*dra.Device{
			{
				RequestNames: []string{"pair"}, PoolName: testNode, DeviceName: gpuName(2),
				CdiDeviceIds: []string{"rankwright.dev/amd-gpu=amd-0000:02:00.0", "rankwright.dev/claim=uid-1"},
			},
			{
				RequestNames: []string{"one"}, PoolName: testNode, DeviceName: gpuName(1),
				CdiDeviceIds: []string{"rankwright.dev/amd-gpu=amd-0000:01:00.0", "rankwright.dev/claim=uid-1"},
			},
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
	}
	file := filepath.Join(folder, "rankwright.dev-claim_uid-1.json")
	content, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(content), `"VISIBLE=GPU-0000000000000001,GPU-0000000000000002"`) {
		t.Errorf("the variables of the claim: %v\n%s", err, content)
	}
	asked := &dra.NodeUnprepareResourcesRequest{Claims: []*dra.Claim{{Namespace: "models", Name: "llama", Uid: "uid-1"}}}
	for range 2 { // and here, too
		answer, err := h.NodeUnprepareResources(t.Context(), asked)
		if err != nil || answer.GetClaims()["uid-1"] == nil || answer.GetClaims()["uid-1"].GetError() != "" {
			t.Fatalf("unprepare: %v, %v", answer, err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the variables of the claim are left: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	elsewhere := resultFor("a", 1)
	elsewhere.Pool = "node-2"
	nvidia := gpu(9, func(d *v1alpha1.Device) { d.Vendor, d.ID = "nvidia", "nvidia-9" })
	ofNVIDIA := resultFor("a", 9)
	ofNVIDIA.Device = "nvidia-9"
	twins := statusOf(gpu(1), gpu(2, func(d *v1alpha1.Device) { d.Paths = gpu(1).Paths }))
	tests := []struct {
		name   string
		wanted serving.Wanted
		claim  *resourceClaim
		want   []string
	}{
		{"before the first detection", serving.Wanted{}, claimOf(resultFor("a", 1)), []string{"no device is known yet", "asks again"}},
		{"a device of another pool", wantedOf(statusOf(gpu(1))), claimOf(elsewhere), []string{gpuName(1), `pool "node-2"`, "delete the claim"}},
		{"a device that is gone", wantedOf(statusOf(gpu(1))), claimOf(resultFor("a", 2)), []string{gpuName(2), "is not served by claims here", "status.devices"}},
		{"a device of the plugin's", wantedOf(statusOf(nvidia)), claimOf(ofNVIDIA), []string{"device nvidia-9 is not served by claims here"}},
		{"a device that is cordoned", wantedOf(statusOf(gpu(1)), gpuID(1)), claimOf(resultFor("a", 1)), []string{string(gpuID(1)), "is cordoned", "gets another device"}},
		{"a device that is unhealthy", wantedOf(statusOf(gpu(1, sick))), claimOf(resultFor("a", 1)), []string{string(gpuID(1)), "is Unhealthy (ECC)"}},
		{
			"a sick device that another claim's pod holds", wantedOf(heldBy("other", v1alpha1.ClaimDriver, statusOf(gpu(1, sick)))),
			claimOf(resultFor("a", 1)),
			[]string{"is Unhealthy"},
		},
		{"a device that cannot be given alone", wantedOf(twins), claimOf(resultFor("a", 1)), []string{string(gpuID(2)), "cannot be kept apart"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := newHandler(t, tc.wanted)
			_, err := h.prepare(tc.claim)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range append(tc.want, "claim models/llama") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
		})
	}
}

// A device that the claim's own pod holds is prepared again, though new pods may not have it.
func TestHeldDeviceIsPreparedAgain(t *testing.T) {
	status := heldBy("worker", v1alpha1.ClaimDriver, statusOf(gpu(1, sick)))
	h, _ := newHandler(t, wantedOf(status, gpuID(1)))
	if _, err := h.prepare(claimOf(resultFor("a", 1))); err != nil {
		t.Error(err)
	}
	if len(offerOf(wantedOf(status)).devices) != 0 {
		t.Error("it is offered to others")
	}
}

// A device that is prepared for one claim is not for another, but for an administrator's look, until the first is done with.
func TestNoDeviceIsPreparedTwice(t *testing.T) {
	h, _ := newHandler(t, wantedOf(statusOf(gpu(1), gpu(2))))
	if _, err := h.prepare(claimOf(resultFor("a", 1))); err != nil {
		t.Fatal(err)
	}
	other := claimOf(resultFor("a", 2), resultFor("a", 1))
	other.UID, other.Name = "uid-2", "other"
	_, err := h.prepare(other)
	if err == nil || !strings.Contains(err.Error(), "claim models/other: device amd-0000:01:00.0 is prepared for claim models/llama: delete one") {
		t.Errorf("%v", err)
	}
	look := claimOf(resultFor("a", 1))
	look.UID, look.Status.Allocation.Devices.Results[0].AdminAccess = "uid-3", true
	if _, err := h.prepare(look); err != nil {
		t.Error(err)
	}
	if err := h.unprepare(&dra.Claim{Uid: "uid-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.prepare(other); err != nil {
		t.Error(err)
	}
}
