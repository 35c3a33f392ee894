package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
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

// Changing are the flags of commands that change objects.
type Changing struct {
	dry    DryRun
	output term.Format
	told   int
}

// Add adds the flags to a command. --dry-run without a value stands for server.
func (c *Changing) Add(command *cobra.Command) {
	term.Choose(command, "dry-run", &c.dry, "server: have the API server check what would be written, client: ask it nothing; either way write nothing", WriteIt, HaveTried, TellAlone)
	command.Flags().Lookup("dry-run").NoOptDefVal = bareDryRun
	term.AddOutput(command, &c.output, term.ChangeFormats...)
}

// Text ends what is told of a change in words.
func (c *Changing) Text() string {
	if c.dry == WriteIt {
		return ""
	}
	return " (dry run)"
}

// object is an object of one of our kinds, pointerTo that of a type.
type (
	object interface {
		runtime.Object
		metav1.Object
	}
	pointerTo[T any] interface {
		*T
		object
	}
)

// Merge merges a change into an object of one of our kinds, as far as it is not only tried, and returns what the object is then.
func Merge[T any, P pointerTo[T]](ctx context.Context, c *Cluster, kind string, of P, change any, how *Changing) (P, error) {
	text, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("change of %s %s: %w", kind, of.GetName(), err)
	}
	var changed P = new(T)
	if how.dry == TellAlone {
		err = mergeHere(of, text, changed)
	} else {
		err = c.patch(ctx, kind, of, text, how.dry, changed)
	}
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// patch has the API server merge a change into an object.
func (c *Cluster) patch(ctx context.Context, kind string, of object, text []byte, dry DryRun, into runtime.Object) error {
	options := metav1.PatchOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict}
	if dry == HaveTried {
		options.DryRun = []string{metav1.DryRunAll}
	}
	err := c.clients[v1alpha1.GroupVersion].Patch(types.MergePatchType).Resource(kind).NamespaceIfScoped(of.GetNamespace(), of.GetNamespace() != "").Name(of.GetName()).
		VersionedParams(&options, metav1.ParameterCodec).Body(text).Do(ctx).Into(into)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("change %s %s: not permitted: ask for the verb patch on %s of rankwright.dev: %w", kind, of.GetName(), kind, err)
	}
	if err != nil {
		return fmt.Errorf("change %s %s: %w", kind, of.GetName(), err)
	}
	return nil
}

// mergeHere merges a change into an object as an API server would.
func mergeHere(of any, change []byte, into any) error {
	was, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("change: %w", err)
	}
	is, err := jsonpatch.MergePatch(was, change)
	if err != nil {
		return fmt.Errorf("change: %w", err)
	}
	return json.Unmarshal(is, into)
}

// Tell tells of a change: in words, or for programs by the object as it is then, which is printed as kubectl does: with its kind, and without who wrote which field.
func (c *Cluster) Tell(streams term.Streams, how *Changing, of object, words string) error {
	if how.output == term.FormatText {
		_, err := fmt.Fprint(streams.Out, words)
		return err
	}
	kinds, _, err := c.scheme.ObjectKinds(of)
	if err != nil {
		return fmt.Errorf("print %s: %w", of.GetName(), err)
	}
	of.GetObjectKind().SetGroupVersionKind(kinds[0])
	of.SetManagedFields(nil)
	how.told++
	if how.told > 1 && how.output == term.FormatYAML {
		if _, err := fmt.Fprintln(streams.Out, "---"); err != nil {
			return err
		}
	}
	return streams.Write(how.output, of, nil)
}
