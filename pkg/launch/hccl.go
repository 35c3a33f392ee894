package launch

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// rankTable is the rank table that HCCL reads. Every number in it is a string. Version 1.0 is for servers, 1.2 for SuperPods.
// Sources: HCCL's user guide, "Rank Table Configuration Resource Information" for Atlas A2 (1.0) and A3 (1.2); Ascend Operator's
// hccl.json.
type rankTable struct {
	Status      string         `json:"status"`
	Version     string         `json:"version"`
	ServerCount string         `json:"server_count"`
	Servers     []rankServer   `json:"server_list"`
	SuperPods   []rankSuperPod `json:"super_pod_list,omitempty"`
}

type rankServer struct {
	ID      string       `json:"server_id"`
	HostIP  string       `json:"host_ip,omitempty"`
	Devices []rankDevice `json:"device"`
}

type rankDevice struct {
	ID      string `json:"device_id"`
	SuperID string `json:"super_device_id,omitempty"`
	IP      string `json:"device_ip,omitempty"`
	Rank    string `json:"rank_id"`
}

type rankSuperPod struct {
	ID      string         `json:"super_pod_id"`
	Servers []rankServerID `json:"server_list"`
}

type rankServerID struct {
	ID string `json:"server_id"`
}

// maxServerID bounds server_id in bytes.
const maxServerID = 64

// hccl is programs on Ascend that read a rank table (MindIE, MindSpore, TensorFlow); torch_npu does without. The table is not
// to be used together with HCCL's variables of the same facts.
var hccl = launcher{
	name:   "hccl",
	vendor: huawei, devices: "of huawei",
	check: (*Copy).inOrder,
	files: func(j *Job, c *Copy) ([]File, error) {
		table, err := j.rankTable(c)
		if err != nil {
			return nil, err
		}
		return c.jsonFile("hccl.json", table)
	},
	shared: func(c *Copy, e *Environment) {
		e.set("RANK_TABLE_FILE", c.path("hccl.json"))
		e.set("RANK_SIZE", c.World)
	},
	rank: func(p *Pod, local int, e *Environment) { e.set("RANK_ID", p.Ranks[local]) },
}

// rankTable is the table of a copy. A server's ranks must follow one another.
func (j *Job) rankTable(c *Copy) (*rankTable, error) {
	table := &rankTable{Status: "completed", Version: "1.0"}
	super, err := j.superPods(c)
	if err != nil {
		return nil, err
	}
	if super != nil {
		table.Version, table.SuperPods = "1.2", super
	}
	at := map[string]bool{}
	for i := range c.Pods {
		p := &c.Pods[i]
		if i == 0 || c.Pods[i-1].Node != p.Node {
			if at[p.Node] {
				return nil, fmt.Errorf("node %s has ranks that do not follow one another, which a rank table cannot have: plan for another engine or order", p.Node)
			}
			at[p.Node] = true
			table.Servers = append(table.Servers, rankServer{ID: serverID(p), HostIP: hostIP(p, super != nil)})
		}
		server := &table.Servers[len(table.Servers)-1]
		if len(server.ID) > maxServerID {
			return nil, fmt.Errorf("server_id %q has %d bytes: HCCL takes at most %d; give the node an address", server.ID, len(server.ID), maxServerID)
		}
		for local, id := range p.Devices {
			device, err := j.rankDevice(p, id, super)
			if err != nil {
				return nil, err
			}
			device.Rank = strconv.Itoa(p.Ranks[local])
			server.Devices = append(server.Devices, *device)
		}
	}
	table.ServerCount = strconv.Itoa(len(table.Servers))
	return table, nil
}

func (j *Job) rankDevice(p *Pod, id v1alpha1.DeviceID, super []rankSuperPod) (*rankDevice, error) {
	npu, known := j.npus[p.Node][id]
	if !known {
		return nil, fmt.Errorf("the physical number of %s on %s is not known: give the node's AcceleratorInventory", id, p.Node)
	}
	device := &rankDevice{ID: strconv.Itoa(int(npu.Number)), IP: npu.IP}
	if super != nil {
		device.SuperID = strconv.FormatUint(uint64(npu.SuperDevice), 10)
	}
	// Within one SuperPod the devices reach each other without their NICs.
	if npu.IP == "" && len(super) != 1 {
		return nil, fmt.Errorf("the address of %s on %s is not known: give the Node, with the annotation %s of the Ascend device plugin", id, p.Node, npuAnnotations[0])
	}
	return device, nil
}

// superPods lists the SuperPods of a copy's nodes in order of rank; none where no node has one.
func (j *Job) superPods(c *Copy) ([]rankSuperPod, error) {
	var pods []rankSuperPod
	index, without := map[string]int{}, ""
	for i := range c.Pods {
		p := &c.Pods[i]
		if i > 0 && c.Pods[i-1].Node == p.Node {
			continue
		}
		id := j.npus[p.Node][p.Devices[0]].SuperPod
		if id == "" {
			without = p.Node
			continue
		}
		at, there := index[id]
		if !there {
			at = len(pods)
			index[id], pods = at, append(pods, rankSuperPod{ID: id})
		}
		pods[at].Servers = append(pods[at].Servers, rankServerID{serverID(p)})
	}
	if without != "" && len(pods) > 0 {
		return nil, fmt.Errorf("node %s has no SuperPod and others have: set the annotation %s on it", without, annotationSuperPod)
	}
	return pods, nil
}

func serverID(p *Pod) string {
	if len(p.Node) > maxServerID && p.Address != "" {
		return p.Address
	}
	return p.Node
}

// hostIP is the host's address in tables of SuperPods, which take IPv4 alone.
func hostIP(p *Pod, super bool) string {
	if at, err := netip.ParseAddr(p.Address); !super || err != nil || !at.Is4() {
		return ""
	}
	return p.Address
}
