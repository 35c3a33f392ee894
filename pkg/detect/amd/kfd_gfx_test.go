package amd

import "testing"

func TestGFXTarget(t *testing.T) {
	for version, want := range map[uint64]string{
		0: "", 80003: "gfx803", 90006: "gfx906", 90008: "gfx908", 90010: "gfx90a", 90402: "gfx942", 90500: "gfx950",
		100300: "gfx1030", 110000: "gfx1100", 110001: "gfx1101", 110501: "gfx1151", 120001: "gfx1201",
	} {
		if got := gfxTarget(version); got != want {
			t.Errorf("gfxTarget(%d) = %q, want %q", version, got, want)
		}
	}
}

func TestKFDPlace(t *testing.T) {
	gpus := map[string]bool{"0000:05:00.0": true, "0001:c1:00.0": true, "0000:07:02.1": true}
	for name, test := range map[string]struct {
		domain, location uint64
		address          string
		partition        int
	}{
		"whole card":                           {0, 0x0500, "0000:05:00.0", 0},
		"partition in bits 28 to 31":           {0, 0x3000_0500, "0000:05:00.0", 3},
		"partition in the function":            {0, 0x0507, "0000:05:00.0", 7},
		"another domain":                       {1, 0xc100, "0001:c1:00.0", 0},
		"a virtual function is one of its own": {0, 0x0711, "0000:07:02.1", 0},
		"nothing there":                        {0, 0x0900, "0000:09:00.0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			node := kfdNode{properties: kfdProperties{"domain": test.domain, "location_id": test.location}}
			address, partition := node.place(func(address string) bool { return gpus[address] })
			if address != test.address || partition != test.partition {
				t.Errorf("got %s partition %d, want %s partition %d", address, partition, test.address, test.partition)
			}
		})
	}
}
