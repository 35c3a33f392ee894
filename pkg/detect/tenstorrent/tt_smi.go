package tenstorrent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// ttBoard is what the board_info of a chip in tt-smi's snapshot says.
type ttBoard struct {
	// busID is `N/A` where the chip is behind another one; boardType is the card's with L or R for the chip of an n300;
	// boardID is the card's serial number.
	busID, boardType, boardID string
	// dram says whether the memory was trained; nil where the snapshot does not (tt-smi 5.3 prints `N/A` for a p300c).
	dram *bool
}

// UnmarshalJSON takes each field that is of the kind that it should be: a field that is not costs the others nothing, nor the
// other boards.
func (b *ttBoard) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	for name, text := range map[string]*string{"bus_id": &b.busID, "board_type": &b.boardType, "board_id": &b.boardID} {
		if json.Unmarshal(fields[name], text) != nil {
			*text = ""
		}
	}
	var trained bool
	if json.Unmarshal(fields["dram_status"], &trained) == nil && string(fields["dram_status"]) != "null" {
		b.dram = &trained
	}
	return nil
}

// ttBoards are chips on PCI by their address, and those behind another chip by the serial number of their card.
type ttBoards struct{ local, remote map[string]*ttBoard }

// queryTTSMI takes a snapshot. The tool is optional: it only adds to the health.
func queryTTSMI(ctx context.Context, h *host.Host, cards []tenstorrentCard) (ttBoards, error) {
	usable := false
	for i := range cards {
		usable = usable || len(cards[i].paths) > 0
	}
	if !usable || h.Commands == nil {
		return ttBoards{}, nil
	}
	result, err := host.Query(ctx, h, "", host.TTSnapshot...)
	if err != nil || len(result.Stdout) == 0 {
		return ttBoards{}, err
	}
	boards, err := parseTTSMI(result.Stdout)
	if err != nil {
		return ttBoards{}, fmt.Errorf("tt-smi -s: %w", err)
	}
	return boards, nil
}

// parseTTSMI reads a snapshot. Lines of progress may stand before the object.
func parseTTSMI(output []byte) (ttBoards, error) {
	boards := ttBoards{local: map[string]*ttBoard{}, remote: map[string]*ttBoard{}}
	var snapshot struct {
		Devices []json.RawMessage `json:"device_info"`
	}
	start := max(bytes.IndexByte(output, '{'), 0)
	if err := json.Unmarshal(bytes.TrimSpace(output[start:]), &snapshot); err != nil {
		return ttBoards{}, err
	}
	for _, entry := range snapshot.Devices[:min(len(snapshot.Devices), backend.MaxDevices)] {
		var device struct {
			Board *ttBoard `json:"board_info"`
		}
		if json.Unmarshal(entry, &device) != nil || device.Board == nil {
			continue
		}
		board := device.Board
		if address, ok := pci.ParseAddress(board.busID); ok {
			boards.local[address] = board
		} else if strings.HasSuffix(board.boardType, " R") && board.boardID != "" {
			boards.remote[strings.ToLower(board.boardID)] = board
		}
	}
	return boards, nil
}
