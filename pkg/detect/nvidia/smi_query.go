package nvidia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// askSMI asks nvidia-smi for everything: its report, the names of MIG devices, and links where there are two GPUs to
// connect.
func askSMI(ctx context.Context, h *host.Host, gpus []nvidiaGPU) (nvidiaReport, []error) {
	told, err := querySMI(ctx, h, gpus)
	return told, []error{err, nameMIG(ctx, h, told), smiLinks(ctx, h, told)}
}

// nameMIG adds the UUIDs and profiles of the MIG devices, which the report does not print.
func nameMIG(ctx context.Context, h *host.Host, told nvidiaReport) error {
	var listed host.CommandResult
	var err error
	for _, gpu := range told.gpus {
		if len(gpu.migNumbers) > 0 {
			listed, err = runTool(ctx, h, host.SMIList...)
			break
		}
	}
	names := parseSMIList(string(listed.Stdout))
	for _, gpu := range told.gpus {
		for i, number := range gpu.migNumbers {
			device, name := &gpu.MIG.Devices[i], names[migKey{gpu.UUID, number}]
			device.UUID, device.Profile = name.uuid, name.profile
		}
	}
	return err
}

// smiLinks reads the active links of each GPU and the matrix between them. nvidia-smi numbers GPUs there; the number is
// matched to the UUID beside it, never to a position.
func smiLinks(ctx context.Context, h *host.Host, facts nvidiaReport) error {
	byUUID := map[string]string{}
	for address, gpu := range facts.gpus {
		if gpu.MIG == nil || !gpu.MIG.Enabled {
			byUUID[gpu.UUID] = address
		}
	}
	if len(byUUID) < 2 {
		return nil
	}
	status, err := runTool(ctx, h, host.SMINVLinks...)
	if err != nil {
		return err
	}
	matrix, err := runTool(ctx, h, host.SMITopology...)
	if err != nil {
		return err
	}
	byIndex := map[int]string{}
	for index, seen := range parseNVLinks(string(status.Stdout)) {
		if address, ok := byUUID[seen.uuid]; ok {
			facts.gpus[address].links = &seen.nvLinkFacts
			byIndex[index] = address
		}
	}
	for pair, count := range parseTopology(string(matrix.Stdout)) {
		a, b := byIndex[pair[0]], byIndex[pair[1]]
		if a != "" && b != "" {
			facts.gpus[a].links.remotes[b], facts.gpus[b].links.remotes[a] = count, count
		}
	}
	return nil
}

// querySMI asks nvidia-smi for all GPUs, and one by one for those it did not get to: a lost GPU can end the report. The
// error says why facts are missing, with the remedy; the report holds what could be had.
func querySMI(ctx context.Context, h *host.Host, gpus []nvidiaGPU) (nvidiaReport, error) {
	report, again, err := runSMI(ctx, h)
	if !again {
		return report, err
	}
	for _, gpu := range gpus {
		address := gpu.Address
		if gpu.Driver != nvidiaDriver || report.gpus[address] != nil {
			continue
		}
		single, _, singleErr := runSMI(ctx, h, "-i", address)
		maps.Copy(report.faults, single.faults)
		if singleErr == nil {
			maps.Copy(report.gpus, single.gpus)
			report.driverVersion, report.cudaVersion = single.driverVersion, single.cudaVersion
		} else if report.faults[address] == "" && !errors.Is(singleErr, context.DeadlineExceeded) {
			report.faults[address] = host.Clip(singleErr.Error(), 256)
		}
	}
	return report, err
}

// smiNoDriver is the exit code for a driver that does not answer (nvidia-smi(1)): then none of its GPUs does.
const smiNoDriver = 9

// runSMI runs `nvidia-smi -q -x` with further arguments. again says that it failed, and may tell more of single GPUs.
func runSMI(ctx context.Context, h *host.Host, args ...string) (report nvidiaReport, again bool, err error) {
	result, err := runTool(ctx, h, slices.Concat(host.SMIReport, args)...)
	if err != nil {
		return newNVIDIAReport(), false, err
	}
	report, err = parseSMI(result.Stdout)
	if result.ExitCode == 0 && err == nil {
		return report, false, nil
	}
	maps.Copy(report.faults, smiFaults(string(result.Stderr)))
	said, kind := host.FirstLine(result.Stdout, result.Stderr), v1alpha1.ErrorToolFailed
	if result.ExitCode == 0 {
		said, kind = err.Error(), v1alpha1.ErrorMalformed
	}
	err = fmt.Errorf("nvidia-smi exits with %d: %s: memory, health and links are not all known", result.ExitCode, said)
	return report, result.ExitCode != smiNoDriver, host.OfKind(kind, err)
}

// runTool runs a tool of NVIDIA's driver and tells what to do where it cannot. That the tool fails is no error.
func runTool(ctx context.Context, h *host.Host, argv ...string) (host.CommandResult, error) {
	missing := "memory is nominal and health unknown; run the agent with NVIDIA's runtime class or CDI for more"
	if h.Commands == nil {
		missing = "memory is nominal and health unknown; allow the agent to run nvidia-smi for more"
	}
	result, err := host.Query(ctx, h, missing, argv...)
	switch {
	case result.ExitCode != 0:
		return result, nil // what it has printed is read nevertheless
	case errors.Is(err, context.DeadlineExceeded):
		return result, fmt.Errorf("%w: enable persistence mode (nvidia-smi -pm 1), and look for Xid messages in dmesg", err)
	}
	return result, err
}
