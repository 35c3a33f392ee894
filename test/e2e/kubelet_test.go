//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/util/wait"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/rankwright/rankwright/test/cluster"
)

// kubelet asks a node's kubelet what it has.
type kubelet struct {
	socket     string
	connection *grpc.ClientConn
	resources  podresources.PodResourcesListerClient
}

func dial(node *cluster.Node) (*kubelet, error) {
	// /var/lib/kubelet of the node is where DevicePlugins is.
	socket := filepath.Join(filepath.Dir(node.DevicePlugins()), "pod-resources", "kubelet.sock")
	connection, err := grpc.NewClient("passthrough:///kubelet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}))
	if err != nil {
		return nil, err
	}
	return &kubelet{socket, connection, podresources.NewPodResourcesListerClient(connection)}, nil
}

func (k *kubelet) close() { _ = k.connection.Close() }

// allocatable are the healthy devices of a resource.
func (k *kubelet) allocatable(ctx context.Context, resource string) ([]string, error) {
	answer, err := k.resources.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, devices := range answer.Devices {
		if devices.ResourceName == resource {
			ids = append(ids, devices.DeviceIds...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// awaitAllocatable waits until the kubelet has so many devices of a resource.
func (k *kubelet) awaitAllocatable(ctx context.Context, resource string, count int) error {
	var ids []string
	var last error
	answers := 0
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := k.allocatable(ctx, resource)
		if last = err; err == nil {
			ids = now
			answers++
		}
		return err == nil && len(now) == count, nil
	})
	if err != nil {
		return fmt.Errorf("in the last of %d answers the kubelet has %q of %s: %w", answers, ids, resource, errors.Join(err, last))
	}
	return nil
}
