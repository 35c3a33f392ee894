package tenstorrent

import (
	"fmt"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// tenstorrent adds a card with a node of the class, whose number says nothing of its place.
func (s tree) tenstorrent(bus, device, subsystem string, number int, files compose.Attributes) string {
	s.Helper()
	folder := s.Function("pci0000:00/0000:"+bus+":00.0", tenstorrentDriver, compose.Attributes{
		"vendor": "0x1e52", "device": "0x" + device, "class": "0x120000", "subsystem_vendor": "0x1e52", "subsystem_device": "0x" + subsystem,
	})
	own := path.Join(folder, "tenstorrent", fmt.Sprint("tenstorrent!", number))
	s.Link(own+"/device", folder)
	s.Link("/sys/class/tenstorrent/"+path.Base(own), own)
	s.File(own+"/uevent", fmt.Sprint("DEVNAME=tenstorrent/", number))
	s.Must(s.AddDevice(fmt.Sprint("/dev/tenstorrent/", number)))
	for name, content := range files {
		s.File(path.Join(own, name), content+"\n")
	}
	return folder
}

func TestTenstorrentCards(t *testing.T) {
	for subsystem, test := range map[string]struct {
		device, cardType, product string
		memories                  []int64
	}{
		"0018": {"401e", "", "Wormhole n150", []int64{12288}},
		"0014": {"401e", "", "Wormhole n300", []int64{12288, 12288}},
		"0035": {"401e", "", "Galaxy Wormhole", []int64{12288}},
		"0041": {"b140", "", "Blackhole p150", []int64{32768}},
		"0043": {"b140", "", "Blackhole p100a", []int64{28672}},
		"0046": {"b140", "", "Blackhole p300c", []int64{32768}},
		"0003": {"faca", "", "Grayskull e150", []int64{0}},
		"ffff": {"b140", "unknown", "Blackhole", []int64{0}},
		"fffe": {"c0de", "x1", "x1", []int64{0}},
	} {
		t.Run(subsystem, func(t *testing.T) {
			s := newTree(t)
			s.tenstorrent("01", test.device, subsystem, 3, compose.Attributes{"tt_card_type": test.cardType})
			found := s.Detect(Card())
			var memories []int64
			for _, d := range found.Devices {
				if d.Product != test.product || d.Health.State != v1alpha1.Healthy || *d.Index != 3 {
					t.Errorf("got %+v", d)
				}
				memory := int64(0)
				if d.Memory != nil {
					memory = d.Memory.TotalMiB
				}
				memories = append(memories, memory)
			}
			if diff := cmp.Diff(test.memories, memories); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The two chips of an n300 share a function and a node; together they have the card's memory once.
func TestTenstorrentN300IsTwoChips(t *testing.T) {
	s := newTree(t)
	folder := s.tenstorrent("c1", "401e", "0014", 0, compose.Attributes{"tt_serial": "0100014511732021", "tt_fw_bundle_ver": "18.7.0.0"})
	s.File(folder+"/hwmon/hwmon7/temp1_input", "41250")
	s.File(folder+"/hwmon/hwmon7/power1_input", "12000000")
	found := s.Detect(Card())
	for i, d := range found.Devices {
		want := &v1alpha1.DevicePartition{Kind: "asic", Parent: "tenstorrent-0000:c1:00.0", Index: int32(i)}
		if diff := cmp.Diff(want, d.Partition); diff != "" || d.ID != v1alpha1.DeviceID(fmt.Sprint("tenstorrent-0000:c1:00.0-", i)) {
			t.Errorf("%s\n%s", d.ID, diff)
		}
	}
	wantPairs := []v1alpha1.LinkPair{{A: "tenstorrent-0000:c1:00.0-0", B: "tenstorrent-0000:c1:00.0-1", Kind: "Ethernet", Count: 2, MBps: 25000}}
	if diff := cmp.Diff(wantPairs, found.Links.Pairs); diff != "" {
		t.Error(diff)
	}
	reading := found.Readings["tenstorrent-0000:c1:00.0-0"]
	if *reading.TemperatureMilliC != 41250 || *reading.PowerMilliW != 12000 {
		t.Errorf("got %+v", reading)
	}
}

func TestTenstorrentMemoryThatFailed(t *testing.T) {
	const board = `{"board_info":{"bus_id":%q,"board_type":%q,"board_id":"0100014511732021","dram_status":%v}}`
	for name, test := range map[string]struct {
		snapshot string
		want     []v1alpha1.HealthState
	}{
		"of the right chip": {
			`Detecting...` + "\n" + `{"device_info":[` + fmt.Sprintf(board, "N/A", "n300 R", false) + `,` + fmt.Sprintf(board, "0000:C1:00.0", "n300 L", true) + `]}`,
			[]v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Unhealthy},
		},
		"of the left chip":   {`{"device_info":[` + fmt.Sprintf(board, "0000:c1:00.0", "n300 L", false) + `]}`, []v1alpha1.HealthState{v1alpha1.Unhealthy, v1alpha1.Healthy}},
		"of another card":    {`{"device_info":[` + fmt.Sprintf(board, "0000:c2:00.0", "n300 L", false) + `]}`, []v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Healthy}},
		"tool prints a text": {`Traceback`, []v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Healthy}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.tenstorrent("c1", "401e", "0014", 0, compose.Attributes{"tt_serial": "0100014511732021"})
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(test.snapshot)}, "tt-smi", "-s", "--snapshot_no_tty"))
			found := s.Detect(Card())
			var got []v1alpha1.HealthState
			for _, d := range found.Devices {
				got = append(got, d.Health.State)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (found.Degraded != "") != (test.snapshot == "Traceback") {
				t.Errorf("degraded %q", found.Degraded)
			}
		})
	}
}

// tt-smi 5.3 prints N/A for what it cannot read of a p300c: the field is lost, and nothing else of the snapshot.
func TestTenstorrentFieldsThatAreNotAsTheyShouldBe(t *testing.T) {
	const good = `{"board_info":{"bus_id":"0000:c2:00.0","board_type":"p300c","board_id":"01","dram_status":true}}`
	for name, bad := range map[string]string{
		"the status of the memory": `{"board_info":{"bus_id":"0000:c1:00.0","board_type":"p300c","board_id":"01","dram_status":"N/A"}}`,
		"no status":                `{"board_info":{"bus_id":"0000:c1:00.0","board_type":"p300c","board_id":"01","dram_status":null}}`,
		"a number for a text":      `{"board_info":{"bus_id":"0000:c1:00.0","board_type":7,"board_id":1.5}}`,
		"an address of no kind":    `{"board_info":{"bus_id":{},"dram_status":false}}`,
		"a board of no kind":       `{"board_info":"N/A"}`,
		"no board":                 `"N/A"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.tenstorrent("c1", "b140", "0046", 0, nil)
			s.tenstorrent("c2", "b140", "0046", 1, nil)
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"device_info":[` + bad + "," + good + `]}`)}, "tt-smi", "-s", "--snapshot_no_tty"))
			found := s.Detect(Card())
			if len(found.Devices) != 2 || found.Degraded != "" {
				t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
			}
			first, second := found.Devices[0].Health, found.Devices[1].Health
			if first != backend.Opened() || second != backend.Healthy("tt-smi says that the memory of the chip works") {
				t.Errorf("got health %+v and %+v, want the second to be what tt-smi says", first, second)
			}
		})
	}
}
