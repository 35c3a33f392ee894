package nodeagent_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

// newServiceSite is a site whose agent would ask a kubelet, if there were one.
func newServiceSite(t *testing.T, name string) *site {
	t.Helper()
	s := newSiteFor(t, name)
	var err error
	s.agent, err = nodeagent.New(agentConfig(t, s.node), nodeagent.Options{
		NodeName: s.name, Host: emptyHost, Backends: []backend.Backend{s.nvidia, s.amd}, RescanInterval: time.Hour, Log: s.log(),
		PodResourcesSocket: filepath.Join(t.TempDir(), "kubelet", "pod-resources", "kubelet.sock"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) services() map[v1alpha1.DeviceID]v1alpha1.DeviceService {
	s.t.Helper()
	services := map[v1alpha1.DeviceID]v1alpha1.DeviceService{}
	for _, d := range s.inventory().Status.Devices {
		if d.Service != nil {
			services[d.ID] = *d.Service
		}
	}
	return services
}

// A DRA driver's slices of this node tell which devices it serves; slices of another node do not matter.
func TestDriverIsNamedByItsSlices(t *testing.T) {
	s := newServiceSite(t, "service-driver")
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	for node, pci := range map[string]string{s.name: gpu(0).PCI.Address, "another": gpu(1).PCI.Address} {
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "slice-of-" + node},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
				Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					"resource.kubernetes.io/pciBusID": {StringValue: &pci},
				}}},
			},
		}
		if _, err := admin.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = admin.ResourceV1().ResourceSlices().Delete(context.Background(), slice.Name, metav1.DeleteOptions{})
		})
	}
	s.nvidia.set(gpu(0), gpu(1))
	s.once()
	want := map[v1alpha1.DeviceID]v1alpha1.DeviceService{gpu(0).ID: {Server: v1alpha1.ServedByDRA, Resource: "gpu.example.com"}}
	if diff := cmp.Diff(want, s.services()); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
}

// Where the kubelet cannot be asked, the Node's allocatable resources tell of another vendor's plugin, as soon as they change.
func TestPluginIsNamedByTheNode(t *testing.T) {
	s := newServiceSite(t, "service-plugin")
	s.nvidia.set(gpu(0))
	s.amd.set(amdGPU(0))
	s.run()
	s.published(2)
	node := get(s, s.nodeKey())
	before := client.MergeFrom(node.DeepCopy()) // the agent writes the Node too
	node.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "cpu": resource.MustParse("8")}
	node.Status.Capacity = node.Status.Allocatable
	if err := s.admin.Status().Patch(t.Context(), node, before); err != nil {
		t.Fatal(err)
	}
	want := map[v1alpha1.DeviceID]v1alpha1.DeviceService{gpu(0).ID: {Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu"}}
	s.await("the plugin to be named", func() bool { return cmp.Equal(want, s.services()) })
	if condition := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionAllocationsCurrent); condition != nil {
		t.Errorf("condition %+v, though there is no kubelet", condition)
	}
}
