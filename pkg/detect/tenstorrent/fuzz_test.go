package tenstorrent

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func FuzzTTSMI(f *testing.F) {
	f.Add([]byte(`{"device_info":[{"board_info":{"bus_id":"0000:c1:00.0","board_type":"n300 L","board_id":"01","dram_status":true}}]}`))
	f.Add([]byte(`{"device_info":["N/A",{"board_info":{"bus_id":7,"dram_status":"N/A"}},{"board_info":null}]}`))
	f.Add([]byte("text\n{\"device_info\":[{\"board_info\":{\"bus_id\":\"N/A\",\"board_type\":\"n300 R\",\"board_id\":\"01\"}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		boards, _ := parseTTSMI(text)
		for address, board := range boards.local {
			if !pci.IsAddress(address) || board == nil {
				t.Errorf("%q: %+v", address, board)
			}
		}
	})
}
