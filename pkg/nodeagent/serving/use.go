package serving

import (
	"context"
	"fmt"
	"maps"
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

// useTimeout bounds the two calls: the kubelet answers from memory.
const useTimeout = 5 * time.Second

// maxUse bounds the answer in bytes; the kubelet's own clients take 16 MiB (pkg/kubelet/apis/podresources/client.go).
const maxUse = 16 << 20

// readUse asks the kubelet at the pod-resources socket. What pods hold is asked last: an offer that a pod takes between
// the two calls is then in one of the answers at least.
func readUse(ctx context.Context, socket string) (Use, error) {
	use := Use{Held: map[Offer]bool{}}
	err := asking(ctx, socket, func(ctx context.Context, client podresources.PodResourcesListerClient) error {
		allocatable, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
		if err != nil {
			return fmt.Errorf("ask for allocatable resources at %s: %w", socket, err)
		}
		pods, err := client.List(ctx, &podresources.ListPodResourcesRequest{})
		if err != nil {
			return fmt.Errorf("ask for the resources of pods at %s: %w", socket, err)
		}
		use.Counted = offersOf(allocatable.GetDevices())
		for _, pod := range pods.GetPodResources() {
			for _, container := range pod.GetContainers() {
				maps.Copy(use.Held, offersOf(container.GetDevices()))
			}
		}
		return nil
	})
	return use, err
}

// readCounted asks the kubelet only for what it would give to new pods.
func readCounted(ctx context.Context, socket string) (counted map[Offer]bool, err error) {
	err = asking(ctx, socket, func(ctx context.Context, client podresources.PodResourcesListerClient) error {
		answer, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
		if err != nil {
			return fmt.Errorf("ask for allocatable resources at %s: %w", socket, err)
		}
		counted = offersOf(answer.GetDevices())
		return nil
	})
	return counted, err
}

// asking has a connection to the pod-resources socket for as long as questions are asked.
func asking(ctx context.Context, socket string, ask func(context.Context, podresources.PodResourcesListerClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUse)))
	if err != nil {
		return fmt.Errorf("pod-resources socket %s: %w", socket, err)
	}
	defer func() { _ = connection.Close() }()
	return ask(ctx, podresources.NewPodResourcesListerClient(connection))
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
