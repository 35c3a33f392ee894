package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// fieldManager owns what the plugin writes.
const fieldManager = "kubectl-rankwright"

// Now is the API server's time, as far as it has answered.
func (c *Cluster) Now() time.Time { return c.clock.Now() }

// Inventory reads the inventory of a node.
func (c *Cluster) Inventory(ctx context.Context, node string) (*v1alpha1.AcceleratorInventory, error) {
	found := &v1alpha1.AcceleratorInventory{}
	err := c.clients[v1alpha1.GroupVersion].Get().Resource(holding.Inventories).Name(node).Do(ctx).Into(found)
	if err != nil {
		return nil, fmt.Errorf("read inventory %s: %w", node, err)
	}
	return found, nil
}

// DryRun is how far a change is only tried, in kubectl's words.
type DryRun string

// The words of --dry-run.
const (
	WriteIt    DryRun = "none"
	HaveTried  DryRun = "server"
	TellAlone  DryRun = "client"
	bareDryRun        = string(HaveTried)
)

// AddDryRun adds --dry-run to a command; without a value it stands for server.
func AddDryRun(command *cobra.Command, dry *DryRun) {
	term.Choose(command, "dry-run", dry, "server: have the API server check what would be written, client: ask it nothing; either way write nothing", WriteIt, HaveTried, TellAlone)
	command.Flags().Lookup("dry-run").NoOptDefVal = bareDryRun
}

// Text ends what is told of a change.
func (d DryRun) Text() string {
	if d == WriteIt {
		return ""
	}
	return " (dry run)"
}

// Merge merges a change into an object of one of our kinds, as far as it is not only tried. What the object is then goes into the object that is given.
func (c *Cluster) Merge(ctx context.Context, kind, namespace, name string, change any, dry DryRun, into runtime.Object) error {
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("change of %s %s: %w", kind, name, err)
	}
	options := metav1.PatchOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict}
	if dry == TellAlone {
		return nil
	}
	if dry == HaveTried {
		options.DryRun = []string{metav1.DryRunAll}
	}
	err = c.clients[v1alpha1.GroupVersion].Patch(types.MergePatchType).Resource(kind).NamespaceIfScoped(namespace, namespace != "").Name(name).
		VersionedParams(&options, metav1.ParameterCodec).Body(text).Do(ctx).Into(into)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("change %s %s: not permitted: ask for the verb patch on %s of rankwright.dev: %w", kind, name, kind, err)
	}
	if err != nil {
		return fmt.Errorf("change %s %s: %w", kind, name, err)
	}
	return nil
}
