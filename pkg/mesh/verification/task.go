package verification

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rankwright/rankwright/internal/strict"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// version of the formats of tasks and reports.
const version = 1

// Port is the TCP port that pods verify on, unless several share a host.
const Port = 28765

// File returns the name of the file with the task of a copy, which counts from 0.
func File(copied int) string { return fmt.Sprintf("verify-%d.json", copied) }

// Task is what the pods of one copy have to verify.
type Task struct {
	Version int `json:"version"`
	// Mesh is namespace and name of the mesh, Plan the name of its plan, and Copy the copy.
	Mesh string `json:"mesh"`
	Plan string `json:"plan"`
	Copy int32  `json:"copy"`
	// Require fails pods where something is wrong.
	Require bool `json:"require,omitempty"`
	// Concluded says that the mesh is verified already: a pod that comes back finds nobody to do it with.
	Concluded bool `json:"concluded,omitempty"`
	// DeadlineSeconds is the time of a pod from its start.
	DeadlineSeconds int32 `json:"deadlineSeconds"`
	// MinimumShare is the share of the expected rate in percent below which a link is slow.
	MinimumShare int32 `json:"minimumShare"`
	// Pods lists the copy's pods in order of index.
	Pods []Pod `json:"pods"`
	// Kinds are the process groups.
	Kinds []Kind `json:"groups"`

	shares []kindShares
}

// Pod is a pod of a copy.
type Pod struct {
	// Index counts the pods of all copies.
	Index int32 `json:"index"`
	// Host and Port are where the other pods reach the pod.
	Host string `json:"host"`
	Port int32  `json:"port"`
	// Node is the name of the node that the pod belongs on.
	Node string `json:"node"`
	// Ranks are the ranks of the pod, counted within its copy.
	Ranks mesh.Ranks `json:"ranks"`
	// MBps is what the plan assumes that the pod's devices send to other nodes, where TCP can be compared with it; else 0.
	MBps int64 `json:"mbps,omitempty"`
	// Wire is what joins the pod's devices, such as NVLink or XGMI, and Fabric what sends for them to other nodes by RDMA, such
	// as InfiniBand or RoCE; empty where the inventory does not say.
	Wire   string `json:"wire,omitempty"`
	Fabric string `json:"fabric,omitempty"`
}

// Kind is all groups of one kind; a rank is in one of them at most.
type Kind struct {
	Name   string       `json:"kind"`
	Groups []mesh.Ranks `json:"ranks"`
}

// deadline is the time of a pod from its start.
func (t *Task) deadline() time.Duration { return time.Duration(t.DeadlineSeconds) * time.Second }

// Place finds a pod by its index.
func (t *Task) Place(index int32) (int, error) {
	for place := range t.Pods {
		if t.Pods[place].Index == index {
			return place, nil
		}
	}
	return 0, fmt.Errorf("copy %d of plan %s has no pod %d: the files are of another plan than the pod", t.Copy, t.Plan, index)
}

// Address returns where a pod is reached, as host:port.
func (p *Pod) Address() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// ParseTask reads a task. It refuses unknown fields, ranks that no pod or two pods have, and groups of other ranks.
func ParseTask(data []byte) (*Task, error) {
	t, err := strict.JSON[Task](data)
	if err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	if err := t.complete(); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return t, nil
}
