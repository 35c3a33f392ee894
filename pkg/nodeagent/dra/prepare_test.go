package dra

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
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
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
		options:    &Options{Node: testNode, Client: claimsAt(t), Inject: inject, CDIFolder: injection.Folder(folder)},
		wanted:     settled(w),
		done:       func(string, string, string, error) {},
		checkpoint: openedIn(t, t.TempDir()),
	}, folder
}

func TestPrepare(t *testing.T) {
	foreign := resourceapi.Result{Request: "nic", Driver: "dra.net", Pool: "elsewhere", Device: "eth0"}
	h, folder := newHandler(t, wantedOf(statusOf(gpu(1), gpu(2), gpu(3))))
	claim := claimOf(resultFor("pair", 2), foreign, resultFor("one/large", 1))
	for range 2 { // the kubelet asks again after a start of its own
		got, err := h.prepare(t.Context(), claim)
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
		claim  *resourceapi.Claim
		want   []string
	}{
		{"before the first detection", serving.Wanted{}, claimOf(resultFor("a", 1)), []string{"no device is known yet", "asks again"}},
		{"a device of another pool", wantedOf(statusOf(gpu(1))), claimOf(elsewhere), []string{gpuName(1), `pool "node-2"`, "delete the claim"}},
		{"a device that is gone", wantedOf(statusOf(gpu(1))), claimOf(resultFor("a", 2)), []string{gpuName(2), "is not served by claims here", "status.devices"}},
		{"a device of the plugin's", wantedOf(statusOf(nvidia)), claimOf(ofNVIDIA), []string{"device nvidia-9 is not served by claims here"}},
		{"a device that is cordoned", wantedOf(statusOf(gpu(1)), gpuID(1)), claimOf(resultFor("a", 1)), []string{string(gpuID(1)), "is cordoned", "gets another device"}},
		{"a device that is unhealthy", wantedOf(statusOf(gpu(1, sick))), claimOf(resultFor("a", 1)), []string{string(gpuID(1)), "is Unhealthy (ECC)"}},
		{"a sick device of which a cordon is tolerated", wantedOf(statusOf(gpu(1, sick)), gpuID(1)), tolerating("rankwright.dev/cordoned"), []string{"is Unhealthy (ECC)"}},
		{
			"a device that a pod got in another way, whatever is tolerated", wantedOf(heldBy("old", "amd.com/gpu", statusOf(gpu(1)))), tolerating(""),
			[]string{"is held by pod models/old, which got it as amd.com/gpu"},
		},
		{
			"a sick device that another claim's pod holds", wantedOf(heldBy("other", v1alpha1.DRADriver, statusOf(gpu(1, sick)))),
			claimOf(resultFor("a", 1)),
			[]string{"is Unhealthy"},
		},
		{"a device that cannot be given alone", wantedOf(twins), claimOf(resultFor("a", 1)), []string{string(gpuID(2)), "cannot be kept apart"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := newHandler(t, tc.wanted)
			_, err := h.prepare(t.Context(), tc.claim)
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

// tolerating is a claim that tolerates a taint; an empty key stands for all.
func tolerating(key string) *resourceapi.Claim {
	r := resultFor("a", 1)
	r.Tolerations = []resourceapi.Toleration{{Key: key, Operator: "Exists"}}
	return claimOf(r)
}

// What is wrong with a device does not keep it from claims that tolerate it, from an administrator, and from the claim that has
// it.
func TestUnfitDeviceIsPrepared(t *testing.T) {
	looking := resultFor("a", 1)
	looking.AdminAccess = true
	tests := map[string]struct {
		wanted serving.Wanted
		claim  *resourceapi.Claim
	}{
		"its illness is tolerated":                        {wantedOf(statusOf(gpu(1, sick))), tolerating("rankwright.dev/unhealthy")},
		"all is tolerated":                                {wantedOf(statusOf(gpu(1, sick)), gpuID(1)), tolerating("")},
		"an administrator looks at one that is cordoned":  {wantedOf(statusOf(gpu(1, sick)), gpuID(1)), claimOf(looking)},
		"an administrator looks at one of another's pod":  {wantedOf(heldBy("old", "amd.com/gpu", statusOf(gpu(1)))), claimOf(looking)},
		"an administrator looks at one of a plugin's pod": {wantedOf(heldBy("old", "rankwright.dev/amd-gpu", statusOf(gpu(1)))), claimOf(looking)},
	}
	for name, tc := range tests {
		h, _ := newHandler(t, tc.wanted)
		if _, err := h.prepare(t.Context(), tc.claim); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	h, _ := newHandler(t, wantedOf(statusOf(gpu(1))))
	if _, err := h.prepare(t.Context(), claimOf(resultFor("a", 1))); err != nil {
		t.Fatal(err)
	}
	next, _ := newHandler(t, wantedOf(statusOf(gpu(1, sick)), gpuID(1)))
	next.checkpoint = h.checkpoint
	if _, err := next.prepare(t.Context(), claimOf(resultFor("a", 1))); err != nil {
		t.Errorf("its claim was prepared while it was well: %v", err)
	}
}

// A device that the claim's own pod holds is prepared again, though new pods may not have it.
func TestHeldDeviceIsPreparedAgain(t *testing.T) {
	status := heldBy("worker", v1alpha1.DRADriver, statusOf(gpu(1, sick)))
	h, _ := newHandler(t, wantedOf(status, gpuID(1)))
	if _, err := h.prepare(t.Context(), claimOf(resultFor("a", 1))); err != nil {
		t.Error(err)
	}
	if len(withoutTaints(offerOf(wantedOf(status), testNode).devices)) != 0 {
		t.Error("it is offered to others")
	}
}
