package verification

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	byMesh  = []string{"namespace", "mesh"}
	byGroup = []string{"namespace", "mesh", "group"}

	bandwidthDesc = prometheus.NewDesc("rankwright_mesh_verification_bandwidth_bytes_per_second",
		"Bus bandwidth of an all-reduce between the pods of the slowest group of a kind.", byGroup, nil)
	plannedDesc = prometheus.NewDesc("rankwright_mesh_verification_planned_bandwidth_bytes_per_second",
		"What the plan assumes of the network of the slowest pod of a kind of groups, where TCP can be compared with it.", byGroup, nil)
	latencyDesc = prometheus.NewDesc("rankwright_mesh_verification_latency_seconds",
		"Time of the smallest all-reduce of the slowest group of a kind.", byGroup, nil)
	outcomeDesc = prometheus.NewDesc("rankwright_mesh_verification_outcome",
		"1 where the mesh is verified, 0 where something is wrong with it, -1 while it is not known.", byMesh, nil)
	findingsDesc = prometheus.NewDesc("rankwright_mesh_verification_findings",
		"Findings in the status of the mesh by reason.", append(byMesh[:len(byMesh):len(byMesh)], "reason"), nil)
)

// Metrics are read from the status of meshes at each scrape. Every mesh has at most one series a kind of groups and reason.
type Metrics struct {
	// Cache reads meshes.
	Cache client.Reader
}

// Describe implements prometheus.Collector.
func (m Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{bandwidthDesc, plannedDesc, latencyDesc, outcomeDesc, findingsDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A cache that does not answer within its time gives no values.
func (m Metrics) Collect(to chan<- prometheus.Metric) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var meshes v1alpha1.DeviceMeshList
	if m.Cache.List(ctx, &meshes, client.UnsafeDisableDeepCopy) != nil { // they are read and never written
		return
	}
	for i := range meshes.Items {
		collect(&meshes.Items[i], to)
	}
}

func collect(mesh *v1alpha1.DeviceMesh, to chan<- prometheus.Metric) {
	c := meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified)
	if c == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, more ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{mesh.Namespace, mesh.Name}, more...)...)
	}
	gauge(outcomeDesc, map[metav1.ConditionStatus]float64{metav1.ConditionTrue: 1, metav1.ConditionFalse: 0, metav1.ConditionUnknown: -1}[c.Status])
	const mega, micro = 1e6, 1e-6
	for _, b := range mesh.Status.Verified {
		for d, value := range map[*prometheus.Desc]float64{
			bandwidthDesc: float64(b.MBps) * mega, plannedDesc: float64(b.PlannedMBps) * mega, latencyDesc: float64(b.LatencyMicros) * micro,
		} {
			if value > 0 {
				gauge(d, value, b.Group)
			}
		}
	}
	count := map[v1alpha1.FindingReason]int{}
	for i := range mesh.Status.Findings {
		count[mesh.Status.Findings[i].Reason]++
	}
	for reason, n := range count {
		gauge(findingsDesc, float64(n), string(reason))
	}
}
