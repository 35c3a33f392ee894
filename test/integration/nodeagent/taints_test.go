package nodeagent_test

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
	"github.com/rankwright/rankwright/test/controlplane"
)

// Where the API server drops the taints of devices, as it does before Kubernetes 1.36, a device that new pods may not get is in no
// ResourceSlice, not for a moment.
func TestUnfitDevicesAreLeftOutWhereTaintsAreDropped(t *testing.T) {
	plane, err := controlplane.Start(t.Context(), controlplane.Options{FeatureGates: map[string]bool{"DRADeviceTaints": false}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	admin := kubernetes.NewForConfigOrDie(plane.Config())
	if _, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "older"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(plane.Config())
	// The path of a socket has 107 bytes, fewer than a test's own folder may have.
	folder, err := os.MkdirTemp("", "rw") //nolint:usetesting // for a shorter path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	driver := dra.New(dra.Options{
		Node: "older", Client: client, Folder: folder, Registry: folder, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Config: serving.Config{Vendors: map[string]serving.VendorConfig{"nvidia": {Serve: true, Through: serving.DRA, Injection: injection.CDI}}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { driver.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })

	ill := gpu(1, func(d *v1alpha1.Device) { d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECC"} })
	slots := []v1alpha1.Slot{{Device: gpu(2).ID, Resource: "rankwright.dev/slot-7f3a9c21-0"}}
	driver.Update(nil, &v1alpha1.AcceleratorInventoryStatus{Devices: []v1alpha1.Device{gpu(0), ill, gpu(2)}, Slots: slots}, v1alpha1.AcceleratorInventorySpec{})
	want := []string{devicename.Of(gpu(0).ID), devicename.Of(gpu(2).ID)}
	var got []string
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := admin.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		if generation := list.Items[0].Spec.Pool.Generation; generation != 1 {
			t.Errorf("the slice was written %d times", generation)
		}
		got = nil
		for _, d := range list.Items[0].Spec.Devices {
			got = append(got, d.Name)
		}
		return true, nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: devices (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}
