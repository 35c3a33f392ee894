package main

import (
	"context"
	"fmt"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/generic"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["windows-workstation"] = windowsHost
}

// windowsAdapters are as Microsoft documents Win32_VideoController and the registry's values, with the names and ids of
// the cards.
const windowsAdapters = "\uFEFF" + `[
 {"Name":"NVIDIA RTX 6000 Ada Generation","PNPDeviceID":"PCI\\VEN_10DE&DEV_26B1&SUBSYS_16A110DE&REV_A1\\4&2283F625&0&0008","AdapterRAM":4293918720,"DriverVersion":"32.0.15.7652","Status":"OK","ErrorCode":0,
  "Location":"@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)","MemorySize":51527024640},
 {"Name":"Intel(R) Arc(TM) A770 Graphics","PNPDeviceID":"PCI\\VEN_8086&DEV_56A0&SUBSYS_10208086&REV_08\\6&1A2B3C4D&0&00080008","AdapterRAM":4293918720,"DriverVersion":"32.0.101.6449","Status":"OK","ErrorCode":0,
  "Location":"@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(3,0,0)","MemorySize":[0,0,0,0,4,0,0,0]},
 {"Name":"Microsoft Remote Display Adapter","PNPDeviceID":"SWD\\REMOTEDISPLAYENUM\\RDPIDD_INDIRECTDISPLAY&SESSIONID_0001","AdapterRAM":null,"DriverVersion":"10.0.22621.1","Status":"OK","ErrorCode":0,"Location":null,"MemorySize":null}
]` + "\r\n"

// windowsHost has cards of two makers.
func windowsHost() *compose.Host {
	h := compose.NewWithoutPCI("A workstation under Windows 11 with an NVIDIA RTX 6000 Ada and an Intel Arc A770.\n\n" +
		"The list of adapters is written from Microsoft's documentation of Win32_VideoController and of the registry's\n" +
		"HardwareInformation.qwMemorySize; versions, places and instances are made up.")
	h.Folder("/Windows/System32")
	queries := asked(h)
	if len(queries) != 1 {
		h.Keep(fmt.Errorf("on Windows, one command is expected, not %q", queries))
		return h
	}
	h.Command(windowsAdapters, queries[0]...)
	return h
}

// asked returns the commands that the backend of Windows runs on a host, so that its script need not be written twice.
func asked(h *compose.Host) [][]string {
	at := h.Host()
	notes := &notedCommands{}
	at.Commands = notes
	detect.Detect(context.Background(), at, detect.Options{Backends: []backend.Backend{generic.WMI()}})
	return notes.argvs
}

type notedCommands struct{ argvs [][]string }

// Run implements host.Commands.
func (n *notedCommands) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	n.argvs = append(n.argvs, argv)
	return host.CommandResult{}, host.ErrNoCommand
}
