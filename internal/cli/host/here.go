package host

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// Here returns the inventory of this host, as detect does without a flag.
func Here(ctx context.Context, streams term.Streams) (*v1alpha1.AcceleratorInventory, error) {
	found, err := new(hostOptions).look(ctx, streams.Log())
	if err != nil {
		return nil, err
	}
	return found.inventory, nil
}
