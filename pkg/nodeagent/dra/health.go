package dra

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"

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

	// handler knows what is to be offered, and the devices of claims.
	handler *handler
}

// register offers the service in both versions: kubelets of 1.36 call v1alpha1, later ones v1 as well.
func (s *healthServer) register(server *grpc.Server) {
	health.RegisterDRAResourceHealthServer(server, s)
	healthv1alpha1.RegisterDRAResourceHealthServer(server, health.V1ServerWrapper{Server: s})
}

// NodeWatchResources sends the health of all devices: at once, when anything changes, and again in time.
func (s *healthServer) NodeWatchResources(_ *health.NodeWatchResourcesRequest, stream grpc.ServerStreamingServer[health.NodeWatchResourcesResponse]) error {
	for {
		options := s.handler.options
		wanted, changed := s.handler.wanted.Get()
		if wanted.Status != nil {
			list := healthOf(wanted, s.handler.devices(), options.Node, options.Clock.Now())
			if err := stream.Send(&health.NodeWatchResourcesResponse{Devices: list}); err != nil {
				return err
			}
		}
		if !await.Pause(stream.Context(), options.Clock, healthInterval, changed) {
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
	parts := []string{d.Health.Reason, d.Health.Message}
	if d.Health.State == v1alpha1.Degraded {
		parts = slices.Insert(parts, 0, string(d.Health.State))
	}
	message := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
	for _, o := range w.Obstacles(d) {
		if o.Cause == serving.Cordoned {
			message = strings.TrimPrefix(message+"; "+o.Text, "; ")
		}
	}
	return message
}
