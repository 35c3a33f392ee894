package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// ttBoard is the board_info of a chip in tt-smi's snapshot.
type ttBoard struct {
	// BusID is `N/A` where the chip is behind another one.
	BusID string `json:"bus_id"`
	// Type is the card's with L or R for the chip of an n300.
	Type string `json:"board_type"`
	// BoardID is the card's serial number.
	BoardID string `json:"board_id"`
	// DRAM says whether the memory was trained; nil where the snapshot does not.
	DRAM *bool `json:"dram_status"`
}

// ttBoards are chips on PCI by their address, and those behind another chip by the serial number of their card.
type ttBoards struct{ local, remote map[string]*ttBoard }

// queryTTSMI takes a snapshot. The tool is optional: it only adds to the health.
func queryTTSMI(ctx context.Context, host *Host, cards []tenstorrentCard) (ttBoards, error) {
	usable := false
	for i := range cards {
		usable = usable || len(cards[i].paths) > 0
	}
	if !usable || host.Commands == nil {
		return ttBoards{}, nil
	}
	result, err := queryTool(ctx, host, "", "tt-smi", "-s", "--snapshot_no_tty")
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
		Devices []struct {
			Board ttBoard `json:"board_info"`
		} `json:"device_info"`
	}
	start := max(bytes.IndexByte(output, '{'), 0)
	if err := json.Unmarshal(bytes.TrimSpace(output[start:]), &snapshot); err != nil {
		return ttBoards{}, err
	}
	for i := range snapshot.Devices[:min(len(snapshot.Devices), maxDevices)] {
		board := &snapshot.Devices[i].Board
		if address, ok := printedAddress(board.BusID); ok {
			boards.local[address] = board
		} else if strings.HasSuffix(board.Type, " R") && board.BoardID != "" {
			boards.remote[strings.ToLower(board.BoardID)] = board
		}
	}
	return boards, nil
}
