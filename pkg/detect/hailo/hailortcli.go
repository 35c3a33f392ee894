package hailo

import (
	"context"
	"errors"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// hailoBoard is what `hailortcli fw-control identify` says of a device; what it does not know (`<N/A>`) is empty.
type hailoBoard struct{ architecture, firmware, serial string }

// hailoArchitectures are the products by the word for the device's architecture.
var hailoArchitectures = map[string]string{
	"HAILO8": "Hailo-8", "HAILO8L": "Hailo-8L", "HAILO10H": "Hailo-10H", "HAILO15L": "Hailo-15L",
}

// queryHailo identifies the devices that have a node; nobody could be asked without one.
func queryHailo(ctx context.Context, h *host.Host, usable bool) (map[string]hailoBoard, error) {
	if !usable || h.Commands == nil {
		return nil, nil
	}
	result, err := host.Query(ctx, h, "", host.HailoIdentify...)
	if err != nil || len(result.Stdout) == 0 {
		return nil, err
	}
	boards := parseHailo(string(result.Stdout))
	if len(boards) == 0 {
		return nil, host.CommandError(host.HailoIdentify, errors.New("identifies no device on PCI"))
	}
	return boards, nil
}

// parseHailo reads lines of `Name: value`; those after `Executing on device: 0001:01:00.0` are that device's.
func parseHailo(output string) map[string]hailoBoard {
	boards := map[string]hailoBoard{}
	address := ""
	for line := range strings.Lines(output) {
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || strings.Contains(value, "N/A") {
			continue
		}
		board := boards[address]
		switch strings.TrimSpace(name) {
		case "Executing on device":
			address = ""
			if pci.IsAddress(value) && len(boards) < backend.MaxDevices {
				address = value
				boards[address] = hailoBoard{}
			}
			continue
		case "Device Architecture":
			board.architecture = host.Clip(value, 32)
		case "Firmware Version":
			board.firmware, _, _ = strings.Cut(value, " ")
		case "Serial Number":
			board.serial = host.Clip(value, 64)
		}
		if address != "" {
			boards[address] = board
		}
	}
	return boards
}
