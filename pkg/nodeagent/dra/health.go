package dra

import (
	"strings"
	"time"

	"google.golang.org/grpc"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// healthInterval is the longest time between two lists of the devices' health. A kubelet takes a device of which it has not
// heard for 30 seconds for Unknown (DefaultHealthTimeout of pkg/kubelet/cm/dra/healthinfo.go, Kubernetes 1.36).
const healthInterval = 10 * time.Second

// healthServer tells kubelets how the devices are, for pod.status.containerStatuses[].allocatedResourcesStatus.
type healthServer struct {
	health.UnimplementedDRAResourceHealthServer

	node  string
	clock clock.Clock
	// wanted is what is to be offered; it has no status before anything was detected.
	wanted *await.Value[serving.Wanted]
	// prepared are the devices of claims, by their names in ResourceSlices.
	prepared func() []string
}

// register offers the service in both versions: kubelets of 1.36 call v1alpha1, later ones v1 as well.
func (s *healthServer) register(server *grpc.Server) {
	health.RegisterDRAResourceHealthServer(server, s)
	healthv1alpha1.RegisterDRAResourceHealthServer(server, health.V1ServerWrapper{Server: s})
}

// NodeWatchResources sends the health of all devices: at once, when anything changes, and again in time.
func (s *healthServer) NodeWatchResources(_ *health.NodeWatchResourcesRequest, stream grpc.ServerStreamingServer[health.NodeWatchResourcesResponse]) error {
	for {
		wanted, changed := s.wanted.Get()
		if wanted.Status != nil {
			list := healthOf(wanted, s.prepared(), s.node, s.clock.Now())
			if err := stream.Send(&health.NodeWatchResourcesResponse{Devices: list}); err != nil {
				return err
			}
		}
		if !await.Pause(stream.Context(), s.clock, healthInterval, changed) {
			return stream.Context().Err()
		}
	}
}

// healthOf is the health of every device that goes through DRA, and of those that claims have and that are gone.
func healthOf(w serving.Wanted, prepared []string, node string, now time.Time) []*health.DeviceHealth {
	var all []*health.DeviceHealth
	add := func(name string, state health.HealthStatus, message string) {
		all = append(all, &health.DeviceHealth{
			Device: &health.DeviceIdentifier{PoolName: node, DeviceName: name}, Health: state, Message: message, LastUpdatedTime: now.Unix(),
		})
	}
	for i := range w.Status.Devices {
		if d := &w.Status.Devices[i]; w.Through(serving.DRA, d) {
			add(devicename.Of(d.ID), healthStates[d.Health.State], healthMessage(w, d))
		}
	}
	for _, name := range prepared {
		if deviceOf(w.Status, name) == nil {
			add(name, health.HealthStatus_UNHEALTHY, "Gone: the node has no such device any more; status.devices of AcceleratorInventory "+node+" has those that it has")
		}
	}
	return all
}

// healthStates are what the kubelet knows of ours: work can use what is degraded.
var healthStates = map[v1alpha1.HealthState]health.HealthStatus{
	v1alpha1.Healthy:   health.HealthStatus_HEALTHY,
	v1alpha1.Degraded:  health.HealthStatus_HEALTHY,
	v1alpha1.Unhealthy: health.HealthStatus_UNHEALTHY,
	v1alpha1.Unknown:   health.HealthStatus_UNKNOWN,
}

// healthMessage says for people why a device is as it is, and that it is cordoned; empty where all is well.
func healthMessage(w serving.Wanted, d *v1alpha1.Device) string {
	var parts []string
	if d.Health.State == v1alpha1.Degraded {
		parts = append(parts, string(d.Health.State))
	}
	for _, part := range []string{d.Health.Reason, d.Health.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	message := strings.Join(parts, ": ")
	for _, o := range w.Obstacles(d) {
		if o.Cause == serving.Cordoned {
			message = strings.TrimPrefix(message+"; "+o.Text, "; ")
		}
	}
	return message
}
