package serving

import (
	"context"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// usage is what the kubelet says of the offers.
type usage struct {
	// At is when the kubelet was asked.
	At time.Time
	// Complete says that the kubelet knew all its pods: one that just started does not.
	Complete bool
	// Held are the offers that pods hold, Counted the offers that the kubelet would give to new pods.
	Held, Counted map[Offer]bool
}

// useTimeout bounds a question: the kubelet answers from memory.
const useTimeout = 5 * time.Second

// readUse asks the kubelet at the pod-resources socket.
func readUse(ctx context.Context, socket string) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	client, err := podresources.NewClient(socket)
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = client.Close() }()
	answer, _, err := client.Ask(ctx)
	if err != nil {
		return usage{}, err
	}
	use := usage{Held: map[Offer]bool{}, Counted: map[Offer]bool{}}
	for _, name := range answer.Offered {
		use.Counted[Offer{name.Resource, name.Device}] = true
	}
	for _, grant := range answer.Grants {
		if grant.Name.Server == v1alpha1.ServedByDevicePlugin {
			use.Held[Offer{grant.Name.Resource, grant.Name.Device}] = true
		}
	}
	return use, nil
}
