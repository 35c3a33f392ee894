package serving

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Use is what the kubelet says of the offers.
type Use struct {
	// At is when it was asked.
	At time.Time
	// Complete says that the kubelet knew all its pods: one that just started does not.
	Complete bool
	// Held are the offers that pods hold, Counted those that the kubelet would give to new ones.
	Held, Counted map[Offer]bool
}

// UseReader asks the kubelet.
type UseReader func(context.Context) (Use, error)

// useTimeout bounds the two calls: the kubelet answers from memory.
const useTimeout = 5 * time.Second

// maxUse bounds the answer in bytes; the kubelet's own clients take 16 MiB (pkg/kubelet/apis/podresources/client.go).
const maxUse = 16 << 20

// readUse asks the kubelet at the pod-resources socket. What pods hold is asked last: an offer that a pod takes between
// the two calls is then in one of the answers at least.
func readUse(ctx context.Context, socket string) (Use, error) {
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUse)))
	if err != nil {
		return Use{}, fmt.Errorf("pod-resources socket %s: %w", socket, err)
	}
	defer func() { _ = connection.Close() }()
	client := podresources.NewPodResourcesListerClient(connection)
	allocatable, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	if err != nil {
		return Use{}, fmt.Errorf("ask for allocatable resources at %s: %w", socket, err)
	}
	pods, err := client.List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return Use{}, fmt.Errorf("ask for the resources of pods at %s: %w", socket, err)
	}
	use := Use{Held: map[Offer]bool{}, Counted: offersOf(allocatable.GetDevices())}
	for _, pod := range pods.GetPodResources() {
		for _, container := range pod.GetContainers() {
			for offer := range offersOf(container.GetDevices()) {
				use.Held[offer] = true
			}
		}
	}
	return use, nil
}

func offersOf(devices []*podresources.ContainerDevices) map[Offer]bool {
	offers := map[Offer]bool{}
	for _, d := range devices {
		for _, id := range d.GetDeviceIds() {
			offers[Offer{d.GetResourceName(), id}] = true
		}
	}
	return offers
}
