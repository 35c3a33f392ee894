package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// Hosts is a pattern of the pods' host names; the zero value gives them the addresses of their nodes. In it {pod} stands for
// the pod's index in the placement, {copy} for its copy, {worker} for its index in the copy, and {-worker} for nothing in
// the first pod of a copy and - and the index in the others, as LeaderWorkerSet names its pods. `llm-{pod}.llm` names
// the pods of a StatefulSet llm with the service llm, and the pods of an Indexed Job llm with the subdomain llm.
type Hosts struct{ pattern string }

const hostsRemedy = "a pattern of hosts such as llm-{pod}.llm, or the node's address in the mesh for pods with hostNetwork"

// loopback is how the only pod of a copy reaches itself.
const loopback = "127.0.0.1"

// maxHosts bounds a pattern: a name in the DNS has 253 bytes, and a placeholder at least as many as a digit.
const maxHosts = 512

var (
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
	hostName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// placeholders are what a pattern may hold.
var placeholders = []string{"{pod}", "{copy}", "{worker}", "{-worker}"}

// ParseHosts reads a pattern; an empty one is the zero value. It refuses unknown placeholders and what makes no host name.
func ParseHosts(pattern string) (Hosts, error) {
	if pattern == "" {
		return Hosts{}, nil
	}
	if len(pattern) > maxHosts {
		return Hosts{}, fmt.Errorf("hosts has %d bytes: at most %d are possible", len(pattern), maxHosts)
	}
	for _, name := range placeholder.FindAllString(pattern, -1) {
		if !slices.Contains(placeholders, name) {
			return Hosts{}, fmt.Errorf("hosts %q: %s is unknown; use {pod}, {copy}, {worker} or {-worker}", pattern, name)
		}
	}
	hosts := Hosts{pattern}
	for _, sample := range []Pod{{}, {Index: mesh.MaxWorldSize, Copy: mesh.MaxWorldSize, Worker: mesh.MaxWorldSize}} {
		if name := hosts.fill(&sample); len(name) > 253 || !hostName.MatchString(name) {
			return Hosts{}, fmt.Errorf("hosts %q makes %q, which is no host name: use lower-case letters, digits, hyphens and dots beside the placeholders", pattern, name)
		}
	}
	return hosts, nil
}

// String returns the pattern.
func (h Hosts) String() string { return h.pattern }

func (h Hosts) fill(p *Pod) string {
	worker, dashed := strconv.Itoa(p.Worker), ""
	if p.Worker > 0 {
		dashed = "-" + worker
	}
	names := strings.NewReplacer("{pod}", strconv.Itoa(p.Index), "{copy}", strconv.Itoa(p.Copy), "{worker}", worker, "{-worker}", dashed)
	return names.Replace(h.pattern)
}

// of returns the host of a pod whose copy has so many pods. A pod that is alone in its copy needs no network.
func (h Hosts) of(p *Pod, pods int) string {
	switch {
	case h.pattern != "":
		return h.fill(p)
	case pods == 1:
		return loopback
	default:
		return strings.ToLower(p.Address)
	}
}
