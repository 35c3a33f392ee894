package cluster

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/why"
)

// Objects are what was read of a cluster.
type Objects struct {
	holding.State

	// Calibrations are what was measured at the site.
	Calibrations []v1alpha1.SiteCalibration
	// Claims and Slices are what is asked of and offered by DRA drivers, Warnings events of one namespace that warn.
	Claims   []resourcev1.ResourceClaim
	Slices   []resourcev1.ResourceSlice
	Warnings []corev1.Event
	// Now is the API server's time when the objects were read.
	Now time.Time
	// Outage is that they are followed and not kept up to date; nil where they are.
	Outage *Outage

	leases []coordinationv1.Lease
}

// Kinds that are read beside those of package holding.
const (
	Calibrations = "sitecalibrations"
	Leases       = "leases"
	// AllPods are all pods that may run, where holding.Pods are those of placements alone.
	AllPods = "pods of all"
	// Claims and Slices are none in a cluster without DRA.
	Claims   = why.Claims
	Slices   = why.Slices
	Warnings = why.Events
)

// kind is how objects of a kind are listed, and where they are kept.
type kind struct {
	resource   string
	group      schema.GroupVersion
	namespaced bool
	// selects says which objects are meant.
	selects metav1.ListOptions
	// optional says that there are clusters without the kind.
	optional bool
	list     func() runtime.Object
	keep     func(*Objects, runtime.Object) error
}

// everything selects all objects of a kind.
var everything metav1.ListOptions

// kinds are what can be read.
var kinds = map[string]kind{
	holding.Inventories: ours(holding.Inventories, false, func(o *Objects, l *v1alpha1.AcceleratorInventoryList) {
		o.Inventories = append(o.Inventories, l.Items...)
	}),
	holding.Placements: ours(holding.Placements, true, func(o *Objects, l *v1alpha1.ModelPlacementList) { o.Placements = append(o.Placements, l.Items...) }),
	holding.Plans:      ours(holding.Plans, true, func(o *Objects, l *v1alpha1.ShardingPlanList) { o.Plans = append(o.Plans, l.Items...) }),
	holding.Meshes:     ours(holding.Meshes, true, func(o *Objects, l *v1alpha1.DeviceMeshList) { o.Meshes = append(o.Meshes, l.Items...) }),
	Calibrations: ours(Calibrations, false, func(o *Objects, l *v1alpha1.SiteCalibrationList) {
		o.Calibrations = append(o.Calibrations, l.Items...)
	}),
	holding.Nodes: of(holding.Nodes, corev1.SchemeGroupVersion, false, everything, func(o *Objects, l *corev1.NodeList) { o.Nodes = append(o.Nodes, l.Items...) }),
	holding.Pods:  of(holding.Pods, corev1.SchemeGroupVersion, true, metav1.ListOptions{LabelSelector: v1alpha1.LabelPlacement}, keepPods),
	AllPods:       of(holding.Pods, corev1.SchemeGroupVersion, true, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}, keepPods),
	Leases: of(Leases, coordinationv1.SchemeGroupVersion, true, everything, func(o *Objects, l *coordinationv1.LeaseList) {
		o.leases = append(o.leases, l.Items...)
	}),
	Claims: optional(of(Claims, resourcev1.SchemeGroupVersion, true, everything, func(o *Objects, l *resourcev1.ResourceClaimList) {
		o.Claims = append(o.Claims, l.Items...)
	})),
	Slices: optional(of(Slices, resourcev1.SchemeGroupVersion, false, everything, func(o *Objects, l *resourcev1.ResourceSliceList) {
		o.Slices = append(o.Slices, l.Items...)
	})),
	Warnings: of(Warnings, corev1.SchemeGroupVersion, true, metav1.ListOptions{FieldSelector: "type=Warning"}, func(o *Objects, l *corev1.EventList) {
		o.Warnings = append(o.Warnings, l.Items...)
	}),
}

func optional(k kind) kind {
	k.optional = true
	return k
}

func keepPods(o *Objects, l *corev1.PodList) { o.Pods = append(o.Pods, l.Items...) }

func ours[L any, P listOf[L]](resource string, namespaced bool, keep func(*Objects, P)) kind {
	return of(resource, v1alpha1.GroupVersion, namespaced, everything, keep)
}

// listOf is a pointer to a list of objects.
type listOf[L any] interface {
	*L
	runtime.Object
}

func of[L any, P listOf[L]](resource string, group schema.GroupVersion, namespaced bool, selects metav1.ListOptions, keep func(*Objects, P)) kind {
	return kind{
		resource: resource, group: group, namespaced: namespaced, selects: selects, list: func() runtime.Object { return P(new(L)) },
		keep: func(o *Objects, page runtime.Object) error {
			list, is := page.(P)
			if !is {
				return fmt.Errorf("list %s: the answer is a %T", resource, page)
			}
			keep(o, list)
			return nil
		},
	}
}
