package scale

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/test/controlplane"
)

// Namespaces of a cluster.
const (
	// Home has placements and pods.
	Home = "scale"
	// OperatorNamespace has the ledger.
	OperatorNamespace = "rankwright-operator"
	// AgentNamespace has the Leases of agents.
	AgentNamespace = "rankwright-node-agent"
)

// shapes are those of eight devices, which have equal shares of the nodes.
var shapes = []string{"h100x8", "h200x8", "mi300x8", "b200x8", "a100-80x8"}

// writers is how many requests are under way at once where a cluster is built.
const writers = 32

// Cluster is an API server whose nodes are synthetic: they have inventories, and Leases of their agents, and nothing runs on them.
type Cluster struct {
	// Config has all rights, and no limit of requests.
	Config *rest.Config
	// Client knows all kinds that the operator does.
	Client client.Client
	// Nodes are what Build makes, by name in no order that matters.
	Nodes []fleet.Node
	// Log takes a line for each step, and what it has come to every few seconds.
	Log io.Writer

	clock func() time.Time
}

// New plans a cluster of so many nodes of eight devices, in equal shares of five shapes, on an API server that serves Rankwright's kinds. The
// configuration has all rights.
func New(config *rest.Config, nodes int, log io.Writer) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Config: config, Log: log, clock: time.Now}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	spec := synthetic.Spec{Pattern: synthetic.Islands}
	for i, name := range shapes {
		s, err := synthetic.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
		if n := (nodes + i) / len(shapes); n > 0 {
			spec.Nodes = append(spec.Nodes, synthetic.Count{Shape: s, Nodes: n})
		}
	}
	if c.Nodes, err = synthetic.Build(spec); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return c, nil
}

// Install makes namespaces, and the rights and policies that an installed operator has.
func (c *Cluster) Install(ctx context.Context) error {
	err := client.IgnoreAlreadyExists(c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Home}}))
	if err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	objects, err := controlplane.ReadConfig("namespace", "rbac", "admission")
	if err != nil {
		return err
	}
	return controlplane.Apply(ctx, c.Config, "", objects...)
}

// Build makes the nodes with inventories and Leases of their agents, and so many pods that run on them and hold their last devices.
func (c *Cluster) Build(ctx context.Context, pods int) error {
	each := make([]int, len(c.Nodes))
	for i := range pods {
		each[i%len(each)]++
	}
	return c.Parallel(ctx, "nodes", writers, len(c.Nodes), func(ctx context.Context, i int) error { return c.node(ctx, &c.Nodes[i], each[i]) })
}

// OperatorConfig has the rights of an installed operator.
func (c *Cluster) OperatorConfig(ctx context.Context) (*rest.Config, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: "rankwright-operator"}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64((24 * time.Hour).Seconds()))}}
	if err := c.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("token of the operator: %w", err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = request.Status.Token
	return config, nil
}

// node makes a node with its inventory, the Lease of its agent, and pods that hold its last devices.
func (c *Cluster) node(ctx context.Context, of *fleet.Node, pods int) error {
	var held []v1alpha1.Allocation
	for i := range pods {
		pod, err := c.pod(ctx, of.Name, i)
		if err != nil {
			return err
		}
		devices := of.Inventory.Status.Devices
		held = append(held, v1alpha1.Allocation{Device: devices[len(devices)-1-i].ID, Namespace: pod.Namespace, Pod: pod.Name, Container: "main"})
	}
	if err := MakeNode(ctx, c.Client, of, held); err != nil {
		return err
	}
	return c.Beat(ctx, of)
}

// pod makes a running pod on a node.
func (c *Cluster) pod(ctx context.Context, node string, number int) (*corev1.Pod, error) {
	pod := podOf(fmt.Sprintf("%s-%d", node, number))
	pod.Spec.NodeName = node
	if err := c.Client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("pod: %w", err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	if err := c.Client.Status().Update(ctx, pod); err != nil {
		return nil, fmt.Errorf("pod status: %w", err)
	}
	return pod, nil
}

func podOf(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Home, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
}

// Beat writes the Lease of a node's agent.
func (c *Cluster) Beat(ctx context.Context, node *fleet.Node) error {
	return Beat(ctx, c.Client, node, c.clock())
}

// Touch writes an inventory as an agent does that saw memory of a device being taken or given back outside of pods.
func (c *Cluster) Touch(ctx context.Context, node string) error {
	var inventory v1alpha1.AcceleratorInventory
	if err := c.Client.Get(ctx, client.ObjectKey{Name: node}, &inventory); err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	before := client.MergeFrom(inventory.DeepCopy())
	used := &inventory.Status.Devices[0].Memory.UsedByOthersMiB
	*used = 512 - *used
	if err := c.Client.Status().Patch(ctx, &inventory, before); err != nil {
		return fmt.Errorf("inventory status: %w", err)
	}
	return nil
}

// SetReady says of a node's kubelet whether it is ready.
func (c *Cluster) SetReady(ctx context.Context, node string, status corev1.ConditionStatus) error {
	was := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	now := was.DeepCopy()
	now.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(c.clock())}}
	if err := c.Client.Status().Patch(ctx, now, client.StrategicMergeFrom(was)); err != nil {
		return fmt.Errorf("node status: %w", err)
	}
	return nil
}

// Parallel does something so many times, a number of them at once, and says how far it is every few seconds.
func (c *Cluster) Parallel(ctx context.Context, what string, atOnce, count int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	last := c.clock()
	for i := range count {
		if now := c.clock(); now.Sub(last) > progressEvery {
			c.logf("  %d of %d %s", i, count, what)
			last = now
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// progressEvery is how often it is said how far something is.
const progressEvery = 5 * time.Second

func (c *Cluster) logf(format string, values ...any) {
	_, _ = fmt.Fprintf(c.Log, format+"\n", values...)
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
