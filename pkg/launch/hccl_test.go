package launch

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// npusOf returns the devices of two nodes, from their inventories and the annotations of their Nodes.
func npusOf(t testing.TB, annotated bool, superPods ...string) map[string]map[v1alpha1.DeviceID]NPU {
	t.Helper()
	all := map[string]map[v1alpha1.DeviceID]NPU{}
	for node := range 2 {
		inventory := &v1alpha1.AcceleratorInventory{}
		inventory.Name = fmt.Sprint("n", node)
		infos := map[string]any{}
		for device := range 8 {
			number := int32(device)
			inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{ID: v1alpha1.DeviceID(fmt.Sprint("huawei-", device)), Vendor: "huawei", Index: &number})
			infos[fmt.Sprint("Ascend910-", device)] = map[string]any{"IP": fmt.Sprintf("192.168.%d.%d", node, device), "SuperDeviceID": 100*node + device}
		}
		text, err := json.Marshal(infos)
		if err != nil {
			t.Fatal(err)
		}
		annotations := map[string]string{}
		if annotated {
			annotations["huawei.com/npu.base-device-infos"] = string(text)
		}
		if node < len(superPods) {
			annotations[annotationSuperPod] = superPods[node]
		}
		if all[inventory.Name], err = NPUs(inventory.Name, &inventory.Status, annotations); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// table is a rank table as HCCL reads it: every field a string. Sources: "Rank Table Configuration Resource Information" of
// HCCL's user guide, for Atlas A2 and A3.
type table struct {
	Status      string `json:"status"`
	Version     string `json:"version"`
	ServerCount string `json:"server_count"`
	ServerList  []struct {
		ServerID string `json:"server_id"`
		HostIP   string `json:"host_ip"`
		Device   []struct {
			DeviceID      string  `json:"device_id"`
			SuperDeviceID *string `json:"super_device_id"`
			DeviceIP      string  `json:"device_ip"`
			RankID        string  `json:"rank_id"`
		} `json:"device"`
	} `json:"server_list"`
	SuperPodList []struct {
		SuperPodID string `json:"super_pod_id"`
		ServerList []struct {
			ServerID string `json:"server_id"`
		} `json:"server_list"`
	} `json:"super_pod_list"`
}

// readTable reads a table and holds it to HCCL's rules: unique servers of at most 64 bytes, ranks from 0 without a gap that
// do not interleave between servers, addresses where they are mandatory, and SuperPods that have every server once.
func readTable(t *testing.T, text string) table {
	t.Helper()
	var read table
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		t.Fatal(err)
	}
	next, servers, addresses := 0, map[string]bool{}, map[string]bool{}
	for _, s := range read.ServerList {
		if servers[s.ServerID] || s.ServerID == "" || len(s.ServerID) > 64 {
			t.Fatalf("server %q", s.ServerID)
		}
		servers[s.ServerID] = true
		numbers := map[string]bool{}
		for _, d := range s.Device {
			if number(t, d.RankID) != next || numbers[d.DeviceID] {
				t.Fatalf("device %s of %s has rank %s, want %d", d.DeviceID, s.ServerID, d.RankID, next)
			}
			numbers[d.DeviceID] = true
			next++
			if _, err := netip.ParseAddr(d.DeviceIP); d.DeviceIP != "" && (err != nil || addresses[d.DeviceIP]) {
				t.Fatalf("address %s: %v", d.DeviceIP, err)
			}
			addresses[d.DeviceIP] = true
			if d.DeviceIP == "" && len(read.SuperPodList) != 1 {
				t.Fatalf("device %s of %s needs an address", d.DeviceID, s.ServerID)
			}
			if (d.SuperDeviceID != nil) != (read.Version == "1.2") {
				t.Fatalf("version %s with super device %v", read.Version, d.SuperDeviceID)
			}
		}
	}
	for _, p := range read.SuperPodList {
		for _, s := range p.ServerList {
			if !servers[s.ServerID] {
				t.Fatalf("server %s is in two SuperPods or in none", s.ServerID)
			}
			delete(servers, s.ServerID)
		}
	}
	if (read.Version == "1.2") != (len(servers) == 0) || read.Status != "completed" || read.ServerCount != fmt.Sprint(len(read.ServerList)) {
		t.Fatalf("table %s", text)
	}
	return read
}

var ascend = fixture{engine: v1alpha1.EngineTorch, vendor: "huawei", strategy: degrees(4, 1, 2), nodes: []int{4, 4}}

func TestRankTableOfServers(t *testing.T) {
	f := ascend
	f.options.NPUs = npusOf(t, true)
	b := f.bundle(t, "hccl")
	read := readTable(t, file(t, b, "copy-0.hccl.json"))
	if read.Version != "1.0" || len(read.ServerList) != 2 || read.ServerList[1].Device[1].DeviceIP != "192.168.1.1" || read.ServerList[1].Device[1].RankID != "5" {
		t.Errorf("table %+v", read)
	}
	e, err := b.OfRank(0, 5)
	if err != nil || variable(t, e, "RANK_ID") != "5" || variable(t, e, "RANK_SIZE") != "8" || variable(t, e, "RANK_TABLE_FILE") != "/etc/rankwright/mesh/copy-0.hccl.json" {
		t.Errorf("environment %v, %v", e, err)
	}
}

// Two pods on a node are one server.
func TestRankTableOfPodsOnOneServer(t *testing.T) {
	f := ascend
	f.options = Options{NPUs: npusOf(t, true), PodDevices: 2}
	if read := readTable(t, file(t, f.bundle(t, "hccl"), "copy-0.hccl.json")); len(read.ServerList) != 2 || len(read.ServerList[0].Device) != 4 {
		t.Errorf("servers %+v", read.ServerList)
	}
}

func TestRankTableOfSuperPods(t *testing.T) {
	for name, c := range map[string]struct {
		annotated bool
		superPods []string
		pods      int
	}{
		"two":                               {true, []string{"a", "b"}, 2},
		"one":                               {true, []string{"a", "a"}, 1},
		"one, whose addresses nobody tells": {false, []string{"a", "a"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := ascend
			f.options.NPUs = npusOf(t, c.annotated, c.superPods...)
			read := readTable(t, file(t, f.bundle(t, "hccl"), "copy-0.hccl.json"))
			if read.Version != "1.2" || len(read.SuperPodList) != c.pods || read.ServerList[0].HostIP != "10.0.0.0" {
				t.Errorf("table %+v", read)
			}
		})
	}
}

func TestRankTableRefuses(t *testing.T) {
	f := ascend
	f.refused(t, "hccl", "the physical number of huawei-0 on n0 is not known")
	f.options.NPUs = npusOf(t, false)
	f.refused(t, "hccl", "give the Node, with the annotation huawei.com/npu.base-device-infos")
	f.options.NPUs = npusOf(t, true, "a")
	f.refused(t, "hccl", "node n1 has no SuperPod")
	f.vendor = "nvidia"
	f.refused(t, "hccl", "devices are of nvidia")
}

// A rank table is left out where its facts are missing: torch does without.
func TestRankTableIsOptional(t *testing.T) {
	b, err := ascend.job(t).Write("")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"env", "torchrun"}, b.Launchers); diff != "" || len(b.Skipped) != 1 || !strings.Contains(b.Skipped[0], "hccl cannot start copy 0") {
		t.Errorf("%v, skipped %v", b.Launchers, b.Skipped)
	}
}

func TestAnnotationsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                   "unexpected end",
		`{"Ascend910":{}}`:                    "does not end in its number",
		`{"Ascend910-0":{"IP":"nowhere"}}`:    "nowhere",
		`{"a-0":{"SuperDeviceID":-1}}`:        "SuperDeviceID",
		`{"Ascend910-99999999999":{"IP":""}}`: "does not end in its number",
	} {
		_, err := NPUs("n", &v1alpha1.AcceleratorInventoryStatus{}, map[string]string{"baseDeviceInfos": text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "baseDeviceInfos") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func FuzzNPUs(f *testing.F) {
	f.Add(`{"Ascend910-0":{"IP":"192.168.1.8","SuperDeviceID":0}}`)
	f.Fuzz(func(t *testing.T, text string) {
		npus, err := parseNPUs(text)
		for number, npu := range npus {
			if err != nil || number < 0 || npu.Number != number {
				t.Errorf("device %d is %+v, %v", number, npu, err)
			}
		}
	})
}
