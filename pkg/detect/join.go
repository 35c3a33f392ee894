package detect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// join puts the outcomes of all backends into one report, in an order that does not depend on who was first. Generic
// backends come last: they list what is left.
func join(outcomes []outcome) Report {
	outcomes = slices.Clone(outcomes)
	rank := map[bool]int{true: 1} // by whether the backend is generic
	slices.SortStableFunc(outcomes, func(a, b outcome) int {
		return cmp.Or(rank[a.found.Generic]-rank[b.found.Generic], cmp.Compare(a.backend, b.backend))
	})
	report := Report{Readings: backend.Readings{}, Signs: map[v1alpha1.DeviceID]backend.Signs{}}
	status := &report.Status
	taken := newClaims()
	hasHost := false
	for _, o := range outcomes {
		report.Times = append(report.Times, BackendTime{Backend: o.backend, Elapsed: o.elapsed})
		result := v1alpha1.BackendStatus{Name: host.Clip(o.backend, maxBackendName)}
		if o.err != nil {
			result.State, result.ErrorKind, result.Message = v1alpha1.BackendFailed, host.ErrorKind(o.err), host.Clip(o.err.Error(), backend.MaxMessage)
			status.Backends = append(status.Backends, result)
			continue
		}
		devices, notes := taken.admit(o, backend.MaxDevices-len(status.Devices))
		status.Devices = append(status.Devices, devices...)
		for _, device := range devices {
			if reading, ok := o.found.Readings[device.ID]; ok {
				report.Readings[device.ID] = reading
			}
			if signs, ok := o.found.Signs[device.ID]; ok {
				report.Signs[device.ID] = signs
			}
		}
		status.Links.Domains = append(status.Links.Domains, o.found.Links.Domains...)
		status.Links.Pairs = append(status.Links.Pairs, o.found.Links.Pairs...)
		status.Links.Unread = append(status.Links.Unread, o.found.Links.Unread...)
		status.NICs = append(status.NICs, o.found.NICs...)
		status.Storage = append(status.Storage, o.found.Storage...)
		if o.found.Host != nil && !hasHost {
			status.Host, hasHost = boundHost(*o.found.Host), true
		}
		if o.found.Degraded != "" {
			notes = append([]string{o.found.Degraded}, notes...)
		}
		result.Devices = int32(len(devices))
		result.Message = host.Clip(strings.Join(notes, "; "), backend.MaxMessage)
		result.State, result.ErrorKind = stateOf(result, o.found)
		status.Backends = append(status.Backends, result)
	}
	slices.SortStableFunc(report.Times, func(a, b BackendTime) int { return cmp.Compare(a.Backend, b.Backend) })
	slices.SortStableFunc(status.Backends, func(a, b v1alpha1.BackendStatus) int { return cmp.Compare(a.Name, b.Name) })
	status.Backends = status.Backends[:min(len(status.Backends), maxBackends)]
	slices.SortFunc(status.Devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	status.Links = boundLinks(status.Links, taken.ids)
	status.NICs = boundNICs(status.NICs)
	status.Storage = boundStorage(status.Storage)
	return report
}

// stateOf is the state of a backend that could look and, where it is Degraded, the kind of what it could not read. What is left out
// of its devices is Other.
func stateOf(result v1alpha1.BackendStatus, found backend.Found) (v1alpha1.BackendState, v1alpha1.ErrorKind) {
	switch {
	case result.Message != "" && found.Degraded != "" && slices.Contains(errorKinds, found.ErrorKind):
		return v1alpha1.BackendDegraded, found.ErrorKind
	case result.Message != "":
		return v1alpha1.BackendDegraded, v1alpha1.ErrorOther
	case result.Devices > 0 || found.Host != nil || len(found.NICs) > 0 || len(found.Storage) > 0:
		return v1alpha1.BackendFound, ""
	default:
		return v1alpha1.BackendAbsent, ""
	}
}
