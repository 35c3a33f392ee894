package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// heartbeat is well below the 50 s after which the node controller gives a node up.
const heartbeat = 10 * time.Second

// simulatedNode is a Node without a kubelet.
type simulatedNode struct {
	name string
	// recording is replayed by the node's agent; empty for this very host.
	recording  string
	registered *corev1.Node
}

// recordedHosts are the hosts that join the host on which the demo runs.
var recordedHosts = []simulatedNode{
	{name: "h100-0", recording: "nvidia-h100-8.tar.gz"},
	{name: "mi300x-0", recording: "amd-mi300x-8.tar.gz"},
	{name: "l40s-0", recording: "nvidia-l40s-4.tar.gz"},
	{name: "v5p-0", recording: "google-v5p-4.tar.gz"},
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// hostName makes a valid Node name of the host's own.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	if name == "" {
		return "this-host"
	}
	return name[:min(len(name), 60)]
}

// startNodes creates the Nodes and plays their kubelets: the control plane shall see them as it sees real ones.
func (d *demo) startNodes(ctx context.Context) error {
	d.nodes = append([]simulatedNode{{name: hostName()}}, recordedHosts...)
	d.progress.step("creating Nodes %s (the first is this host)", strings.Join(d.names(), ", "))
	background, stop := context.WithCancel(context.Background())
	var kubelets sync.WaitGroup
	d.stopKubelets = func() {
		stop()
		kubelets.Wait()
	}
	for i := range d.nodes {
		node := &d.nodes[i]
		config, err := d.cluster.ConfigForUser("system:node:"+node.name, "system:nodes")
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("client of node %s: %w", node.name, err)
		}
		if node.registered, err = registerNode(ctx, client, node.name, i); err != nil {
			return err
		}
		// The Leases tell the node controller that nodes live. A renewal that fails is made up for by the next, long before the
		// node is given up.
		kubelets.Go(func() {
			wait.UntilWithContext(background, func(ctx context.Context) { _ = renewLease(ctx, client, node.name) }, heartbeat)
		})
	}
	return nil
}

// registerNode creates the Node and says that it is ready, as its kubelet would.
func registerNode(ctx context.Context, client kubernetes.Interface, name string, index int) (*corev1.Node, error) {
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	status := corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity, Conditions: readyConditions(metav1.Now()),
		// Addresses from the range for documentation (RFC 5737): nothing answers there.
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", index+1)},
			{Type: corev1.NodeHostName, Address: name},
		},
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return nil, fmt.Errorf("status of node %s: %w", name, err)
	}
	// A patch, since controllers write the node as soon as it is there.
	node, err := client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("status of node %s: %w", name, err)
	}
	return node, nil
}

func readyConditions(now metav1.Time) []corev1.NodeCondition {
	conditions := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "played by the demo"},
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		conditions = append(conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient"})
	}
	for i := range conditions {
		conditions[i].LastHeartbeatTime, conditions[i].LastTransitionTime = now, now
	}
	return conditions
}

func renewLease(ctx context.Context, client kubernetes.Interface, name string) error {
	body := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":40,"renewTime":%q}}`,
		coordinationv1.SchemeGroupVersion.String(), name, name, time.Now().UTC().Format(metav1.RFC3339Micro))
	_, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "demo-kubelet"})
	return err
}

// names are the names of the Nodes.
func (d *demo) names() []string {
	names := make([]string, len(d.nodes))
	for i, node := range d.nodes {
		names[i] = node.name
	}
	return names
}
