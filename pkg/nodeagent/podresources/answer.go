package podresources

import (
	"cmp"
	"slices"

	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Name is what a device is called where pods get it.
type Name struct {
	// Server is DevicePlugin or DRA. The kubelet does not tell this agent's plugin from another: the id does.
	Server v1alpha1.DeviceServer
	// Resource is an extended resource, or the name of a DRA driver.
	Resource string
	// Pool is the pool of a DRA driver, empty for a device plugin.
	Pool string
	// Device is the id that the plugin gave, or the name in the pool.
	Device string
}

// Grant is a device that a container holds.
type Grant struct {
	Namespace, Pod, Container string
	// Claim is the name of the ResourceClaim, in the pod's namespace, that the device is held by; empty where a device plugin gave it.
	Claim string
	Name  Name
}

// Pod is a pod that the kubelet runs.
type Pod struct{ Namespace, Name string }

// Answer is what the kubelet says at one moment. Two answers that say the same are equal item by item.
type Answer struct {
	// Pods are all pods that the kubelet runs.
	Pods []Pod
	// Grants are the devices that the pods' containers hold.
	Grants []Grant
	// Offered are the devices of every device plugin that are healthy, held or not.
	Offered []Name
}

// same says whether two answers agree about the devices; pods without any come and go.
func (a *Answer) same(other *Answer) bool {
	return slices.Equal(a.Grants, other.Grants) && slices.Equal(a.Offered, other.Offered)
}

// runs says whether the kubelet runs a pod.
func (a *Answer) runs(pod Pod) bool {
	_, found := slices.BinarySearchFunc(a.Pods, pod, comparePods)
	return found
}

// newAnswer puts the kubelet's two answers in order, without what is said twice: it repeats a device for each of its NUMA
// nodes.
func newAnswer(pods []*podresourcesv1.PodResources, allocatable []*podresourcesv1.ContainerDevices) *Answer {
	a := &Answer{Offered: pluginNames(allocatable)}
	for _, pod := range pods {
		a.Pods = append(a.Pods, Pod{pod.GetNamespace(), pod.GetName()})
		for _, container := range pod.GetContainers() {
			for _, name := range pluginNames(container.GetDevices()) {
				a.Grants = append(a.Grants, Grant{pod.GetNamespace(), pod.GetName(), container.GetName(), "", name})
			}
			for _, claim := range container.GetDynamicResources() {
				for _, name := range claimNames(claim) {
					a.Grants = append(a.Grants, Grant{pod.GetNamespace(), pod.GetName(), container.GetName(), claim.GetClaimName(), name})
				}
			}
		}
	}
	slices.SortFunc(a.Pods, comparePods)
	slices.SortFunc(a.Grants, compareGrants)
	slices.SortFunc(a.Offered, compareNames)
	a.Grants, a.Offered = slices.Compact(a.Grants), slices.Compact(a.Offered)
	return a
}

func pluginNames(devices []*podresourcesv1.ContainerDevices) []Name {
	var names []Name
	for _, d := range devices {
		for _, id := range d.GetDeviceIds() {
			names = append(names, Name{Server: v1alpha1.ServedByDevicePlugin, Resource: d.GetResourceName(), Device: id})
		}
	}
	return names
}

func claimNames(claim *podresourcesv1.DynamicResource) []Name {
	var names []Name
	for _, r := range claim.GetClaimResources() {
		names = append(names, Name{v1alpha1.ServedByDRA, r.GetDriverName(), r.GetPoolName(), r.GetDeviceName()})
	}
	return names
}

func comparePods(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Device, b.Device))
}

func compareGrants(a, b Grant) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Container, b.Container), cmp.Compare(a.Claim, b.Claim), compareNames(a.Name, b.Name))
}
