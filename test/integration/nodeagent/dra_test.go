package nodeagent_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeletdra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
	"github.com/rankwright/rankwright/test/controlplane"
)

// claimSite is a site whose agent serves NVIDIA's devices by claims, with the rights of config/dra. The test is its kubelet.
type claimSite struct {
	*site
	clients kubernetes.Interface
	folder  string
}

func newClaimSite(t *testing.T, name string) *claimSite {
	t.Helper()
	rights, err := controlplane.ReadConfig("dra/rights.yaml", "dra/device_class.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), cluster.Config(), "", rights...); err != nil {
		t.Fatal(err)
	}
	s := &claimSite{site: newSiteFor(t, name)}
	if s.clients, err = kubernetes.NewForConfig(cluster.Config()); err != nil {
		t.Fatal(err)
	}
	// The path of a socket has 107 bytes, fewer than a test's own folder may have.
	if s.folder, err = os.MkdirTemp("", "rw"); err != nil { //nolint:usetesting // for a shorter path
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.folder, "registry"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.folder) })
	s.configure = func(o *nodeagent.Options) {
		o.Serving = &serving.Options{
			Config: serving.Config{Vendors: map[string]serving.VendorConfig{"nvidia": {Serve: true, Through: serving.DRA, Injection: injection.CDI, Settings: injection.Settings{UserLibraries: injection.FromImage}}}},
			Folder: filepath.Join(s.folder, "device-plugins"), CDIFolder: filepath.Join(s.folder, "cdi"),
		}
		o.DRA = dra.Options{Folder: filepath.Join(s.folder, "driver"), Registry: filepath.Join(s.folder, "registry")}
	}
	s.agent = s.newAgent(agentConfig(t, s.node))
	t.Cleanup(func() {
		selector := metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.name}
		_ = s.clients.ResourceV1().ResourceSlices().DeleteCollection(context.Background(), metav1.DeleteOptions{}, selector)
	})
	return s
}

// published are the ResourceSlices of the node.
func (s *claimSite) published() []resourcev1.ResourceSlice {
	s.t.Helper()
	list, err := s.clients.ResourceV1().ResourceSlices().List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.name})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// offers says whether the node's one ResourceSlice has exactly these devices.
func (s *claimSite) offers(devices ...v1alpha1.Device) func() bool {
	return func() bool {
		var want, got []string
		for i := range devices {
			want = append(want, devicename.Of(devices[i].ID))
		}
		published := s.published()
		for i := range published {
			for k := range published[i].Spec.Devices {
				got = append(got, published[i].Spec.Devices[k].Name)
			}
		}
		return len(published) == 1 && slices.Equal(got, want)
	}
}

// dial connects to a socket of the driver.
func (s *claimSite) dial(name ...string) *grpc.ClientConn {
	s.t.Helper()
	path := filepath.Join(append([]string{s.folder}, name...)...)
	connection, err := grpc.NewClient("passthrough:///driver", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// register does what a kubelet does that finds the driver.
func (s *claimSite) register() kubeletdra.DRAPluginClient {
	s.t.Helper()
	s.await("the driver's socket", func() bool {
		_, err := os.Stat(filepath.Join(s.folder, "registry", "rankwright.dev-reg.sock"))
		return err == nil
	})
	found := registration.NewRegistrationClient(s.dial("registry", "rankwright.dev-reg.sock"))
	info, err := found.GetInfo(s.t.Context(), &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		s.t.Fatal(err)
	}
	endpoint := filepath.Join(s.folder, "driver", "dra.sock")
	if info.GetType() != "DRAPlugin" || info.GetName() != "rankwright.dev" || info.GetEndpoint() != endpoint || !slices.Equal(info.GetSupportedVersions(), []string{"v1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"}) {
		s.t.Errorf("the driver is %+v", info)
	}
	connection := s.dial("driver", "dra.sock")
	connection.Connect()
	if _, err := found.NotifyRegistrationStatus(s.t.Context(), &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		s.t.Fatal(err)
	}
	return kubeletdra.NewDRAPluginClient(connection)
}

// allocated is a claim that the scheduler has given a device.
func (s *claimSite) allocated(name string, device v1alpha1.Device) *resourcev1.ResourceClaim {
	s.t.Helper()
	of := s.clients.ResourceV1().ResourceClaims(metav1.NamespaceDefault)
	claim, err := of.Create(s.t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: v1alpha1.DRADriver}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = of.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: v1alpha1.DRADriver, Pool: s.name, Device: devicename.Of(device.ID)},
	}}}
	if claim, err = of.UpdateStatus(s.t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return claim
}

// A node's devices are in one ResourceSlice, which follows the inventory, comes back when it is deleted, and outlives its
// agent.
func TestDevicesAreInAResourceSlice(t *testing.T) {
	s := newClaimSite(t, "claims-slice")
	s.nvidia.set(gpu(0), gpu(1))
	s.amd.set(amdGPU(1)) // not served
	s.run()
	s.await("both devices", s.offers(gpu(0), gpu(1)))
	slice := s.published()[0]
	id := string(gpu(0).ID)
	if got := slice.Spec.Devices[0].Attributes["id"].StringValue; got == nil || *got != id {
		t.Errorf("attribute id is %v, want %s", got, id)
	}
	if slice.Spec.Driver != "rankwright.dev" || slice.Spec.Pool.Name != s.name || *slice.Spec.NodeName != s.name {
		t.Errorf("the slice is %+v", slice.Spec)
	}
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].Kind != "Node" || slice.OwnerReferences[0].UID != s.node.UID {
		t.Errorf("it is owned by %+v, not by its Node", slice.OwnerReferences)
	}
	want := &v1alpha1.ClaimAttribute{Name: "rankwright.dev/id", String: &id}
	s.await("the inventory to say how a claim selects it", func() bool { return cmp.Equal(want, s.inventory().Status.Device(gpu(0).ID).ClaimAttribute) })
	if other := s.inventory().Status.Device(amdGPU(1).ID); other.Service != nil || other.ClaimAttribute != nil {
		t.Errorf("a device that is not served has %+v and %+v", other.Service, other.ClaimAttribute)
	}

	slot := v1alpha1.Slot{Device: gpu(1).ID, Resource: "rankwright.dev/slot-7f3a9c21-0-0"}
	s.slot(slot)
	s.await("the device of a slot to be tainted", func() bool {
		devices := s.published()[0].Spec.Devices
		taints := devices[1].Taints
		return len(devices[0].Taints) == 0 && len(taints) == 1 && taints[0].Key == slot.Resource && taints[0].Effect == resourcev1.DeviceTaintEffectNoSchedule
	})
	if err := s.admin.Patch(t.Context(), s.inventoryKey(), mergePatch(t, map[string]any{"spec": map[string]any{"cordonedDevices": []string{id}}})); err != nil {
		t.Fatal(err)
	}
	s.await("the cordoned device to be tainted", func() bool {
		taints := s.published()[0].Spec.Devices[0].Taints
		return len(taints) == 1 && taints[0].Key == "rankwright.dev/cordoned" && taints[0].Effect == resourcev1.DeviceTaintEffectNoSchedule
	})
	if err := s.clients.ResourceV1().ResourceSlices().Delete(t.Context(), slice.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await("the slice to be written again", s.offers(gpu(0), gpu(1)))
	s.stop()
	if !s.offers(gpu(0), gpu(1))() {
		t.Errorf("the slice went with the agent: %+v", s.published())
	}
}

// A kubelet that registers the driver gets the CDI devices of a claim, and the inventory says that devices are served.
func TestClaimsArePrepared(t *testing.T) {
	s := newClaimSite(t, "claims-prepare")
	reached := func(path string) func(*v1alpha1.Device) {
		return func(d *v1alpha1.Device) { d.Backend, d.Paths = "nvidia", []string{path} }
	}
	s.nvidia.set(gpu(0, reached("/dev/nvidia0")), gpu(1, reached("/dev/nvidia1")))
	s.run()
	driver := s.register()
	s.await("the devices to be served", func() bool {
		condition := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionServed)
		return condition != nil && condition.Status == metav1.ConditionTrue && condition.Message == "the kubelet takes rankwright.dev"
	})
	claim := s.allocated("claims-prepare", gpu(1))
	asked := []*kubeletdra.Claim{{Namespace: claim.Namespace, Name: claim.Name, Uid: string(claim.UID)}}
	answer, err := driver.NodePrepareResources(t.Context(), &kubeletdra.NodePrepareResourcesRequest{Claims: asked})
	if err != nil {
		t.Fatal(err)
	}
	got := answer.GetClaims()[string(claim.UID)]
	if got.GetError() != "" || len(got.GetDevices()) != 1 {
		t.Fatalf("the claim is answered with %v", got)
	}
	want := []string{"rankwright.dev/nvidia-gpu=" + string(gpu(1).ID), "rankwright.dev/claim=" + string(claim.UID)}
	if diff := cmp.Diff(want, got.GetDevices()[0].GetCdiDeviceIds()); diff != "" {
		t.Errorf("CDI devices (-want +got):\n%s", diff)
	}
	for file, part := range map[string]string{"rankwright.dev-nvidia-gpu.json": string(gpu(1).ID), "rankwright.dev-claim_" + string(claim.UID) + ".json": "NVIDIA_VISIBLE_DEVICES=void"} {
		if content, err := os.ReadFile(filepath.Join(s.folder, "cdi", file)); err != nil || !strings.Contains(string(content), part) {
			t.Errorf("%s has no %s: %v\n%s", file, part, err, content)
		}
	}
	for name, other := range map[string]*kubeletdra.Claim{
		"its UID is":            {Namespace: claim.Namespace, Name: claim.Name, Uid: "another"},
		"claim default/nowhere": {Namespace: claim.Namespace, Name: "nowhere", Uid: "another"},
	} {
		answer, err := driver.NodePrepareResources(t.Context(), &kubeletdra.NodePrepareResourcesRequest{Claims: []*kubeletdra.Claim{other}})
		if err != nil || !strings.Contains(answer.GetClaims()["another"].GetError(), name) {
			t.Errorf("%v, %v, want a refusal with %q", answer, err, name)
		}
	}
}
