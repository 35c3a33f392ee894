package serving

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// maxShares is the highest number of pods that can share a device: what an extended resource counts on a node stays a
// number that a scheduler and a person can work with.
const maxShares = 64

// Config says which devices are served, and how.
type Config struct {
	// Vendors say how each vendor's devices are served, by the vendor's name (`nvidia`). A vendor that is absent is not served.
	Vendors map[string]VendorConfig `json:"vendors,omitempty"`
}

// Through is the API of the kubelet by which a vendor's devices are offered.
type Through string

// The APIs: extended resources of a device plugin, or ResourceClaims of a DRA driver (resource.k8s.io/v1).
const (
	DevicePlugin Through = "DevicePlugin"
	DRA          Through = "DRA"
)

// TaintEffect is what the taint of a device does to claims that do not tolerate it.
type TaintEffect string

// The effects, as resource.k8s.io/v1 has them: no new pod gets the device, or pods that have it are evicted as well.
const (
	NoSchedule TaintEffect = "NoSchedule"
	NoExecute  TaintEffect = "NoExecute"
)

// VendorConfig says how the devices of a vendor are served.
type VendorConfig struct {
	// Serve offers the vendor's devices to the kubelet.
	Serve bool `json:"serve,omitempty"`
	// Through is the API by which the vendor's devices are offered; empty means DevicePlugin.
	Through Through `json:"through,omitempty"`
	// Injection is how containers get the devices; it has no default, since no API tells what a node's runtime supports.
	Injection injection.Mode `json:"injection,omitempty"`
	// Resources rename resources: by the kind of the device (`gpu`) or the name of the partition (`mig-1g.10gb`), the
	// extended resource (`nvidia.com/gpu`). Partitions follow their device into its domain.
	Resources map[string]string `json:"resources,omitempty"`
	// UnhealthyTaint is the effect of the taint on unhealthy devices that go through DRA; empty means NoSchedule.
	UnhealthyTaint TaintEffect `json:"unhealthyTaint,omitempty"`
	// Shares is how many pods may share a device, in turns of time and without any protection from each other; 0 means 1.
	Shares int `json:"shares,omitempty"`
	// Settings are of what containers get with a device.
	injection.Settings
}

// Uses says whether any vendor's devices are served through an API.
func (c Config) Uses(api Through) bool {
	for _, vendor := range c.Vendors {
		if vendor.servedThrough(api) {
			return true
		}
	}
	return false
}

// Serves says whether a resource that was given another name is served.
func (c Config) Serves(resource string) bool {
	for _, vendor := range c.Vendors {
		if vendor.gives(resource) {
			return true
		}
	}
	return strings.HasPrefix(resource, v1alpha1.Prefix)
}

// gives says whether a resource is in the product's own domain or in one that a resource of the vendor was moved to.
func (c VendorConfig) gives(resource string) bool {
	domain, _, _ := strings.Cut(resource, "/")
	for _, renamed := range c.Resources {
		if c.Serve && strings.HasPrefix(renamed, domain+"/") {
			return true
		}
	}
	return c.Serve && strings.HasPrefix(resource, v1alpha1.Prefix)
}

// Empty says that nothing is to be served.
func (c Config) Empty() bool { return !c.Uses(DevicePlugin) && !c.Uses(DRA) }

// servedThrough says whether the vendor's devices are served through an API.
func (c VendorConfig) servedThrough(api Through) bool {
	return c.Serve && cmp.Or(c.Through, DevicePlugin) == api
}

// shares is the number of offers of a device.
func (c VendorConfig) shares() int { return max(c.Shares, 1) }

// ParseConfig reads a configuration from YAML or JSON and checks it. All mistakes are told at once, each with its field,
// its value and the remedy.
func ParseConfig(text []byte) (Config, error) {
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Config{}, fmt.Errorf("not YAML: %w: write `vendors:` with a vendor below it", err)
	}
	var vendors struct {
		Vendors map[string]json.RawMessage `json:"vendors"`
	}
	errs := decode(document, &vendors, "the configuration", "take vendors")
	config := Config{}
	for _, name := range slices.Sorted(maps.Keys(vendors.Vendors)) {
		if config.Vendors == nil {
			config.Vendors = map[string]VendorConfig{}
		}
		var vendor VendorConfig
		errs = append(errs, decode(vendors.Vendors[name], &vendor, "vendors."+name, "take "+fields)...)
		config.Vendors[name] = vendor
	}
	return config, errors.Join(append(errs, config.check()...)...)
}

// fields lists the fields of VendorConfig for messages.
const fields = "serve, through, injection, resources, shares, cdiKind, userLibraries, imexChannels, additionalGids or unhealthyTaint"

// decode reads the fields of a part of the configuration, which where names, and no others.
func decode(document []byte, into any, where, remedy string) []error {
	unknown, err := strictjson.UnmarshalStrict(document, into)
	if err != nil {
		return []error{fmt.Errorf("%s: %w: give the field a value of that type", where, err)}
	}
	for i, mistake := range unknown {
		unknown[i] = fmt.Errorf("%s: %w: %s", where, mistake, remedy)
	}
	return unknown
}

var (
	vendorName  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	cdiKind     = regexp.MustCompile(`^[a-zA-Z]([a-zA-Z0-9._-]{0,62}[a-zA-Z0-9])?/[a-zA-Z]([a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?$`)
	kindPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)
)

// mistakes collects what is wrong in the fields of one vendor.
type mistakes struct {
	// vendor is the name of the vendor's field.
	vendor string
	found  []error
}

// when notes a mistake in a field if the condition holds.
func (m *mistakes) when(is bool, field, format string, args ...any) {
	if is {
		m.found = append(m.found, fmt.Errorf("%s.%s: %w", m.vendor, field, fmt.Errorf(format, args...)))
	}
}

func (c Config) check() []error {
	var errs []error
	takenBy := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Vendors)) {
		m, vendor := mistakes{vendor: "vendors." + name}, c.Vendors[name]
		if !vendorName.MatchString(name) {
			m.found = append(m.found, fmt.Errorf("%s: %q cannot be a vendor: take the vendor of status.devices (nvidia, amd, intel)", m.vendor, name))
		}
		vendor.check(&m)
		vendor.checkContents(name, &m)
		for _, kind := range slices.Sorted(maps.Keys(vendor.Resources)) {
			resource := vendor.Resources[kind]
			m.when(takenBy[resource] != "", "resources."+kind, "%q is taken by %s already: give each kind a resource of its own", resource, takenBy[resource])
			takenBy[resource] = m.vendor + ".resources." + kind
		}
		errs = append(errs, m.found...)
	}
	return errs
}

func (c VendorConfig) check(m *mistakes) {
	modes := []injection.Mode{"", injection.CDI, injection.DeviceNodes}
	m.when(c.Injection == "" && c.Serve, "injection", "is empty: say how the node's container runtime is to give devices, %s or %s", injection.CDI, injection.DeviceNodes)
	m.when(!slices.Contains(modes, c.Injection), "injection", "%q is not known: take %s or %s", c.Injection, injection.CDI, injection.DeviceNodes)
	switch c.Through {
	case "", DevicePlugin:
		m.when(c.UnhealthyTaint != "", "unhealthyTaint", "%q has no use with through: %s: leave it out, or take through: %s", c.UnhealthyTaint, DevicePlugin, DRA)
	case DRA:
		c.checkDRA(m)
	default:
		m.when(true, "through", "%q is not known: take %s or %s", c.Through, DevicePlugin, DRA)
	}
	m.when(c.CDIKind != "" && c.Injection != injection.CDI, "cdiKind", "%q has no use with injection %q: leave it out, or take injection %s", c.CDIKind, c.Injection, injection.CDI)
	m.when(c.CDIKind != "" && !cdiKind.MatchString(c.CDIKind), "cdiKind", "%q cannot be a kind: take a vendor and a class, such as nvidia.com/gpu", c.CDIKind)
	m.when(c.Shares < 0 || c.Shares > maxShares, "shares", "%d is out of range: take 1 to %d", c.Shares, maxShares)
	for _, kind := range slices.Sorted(maps.Keys(c.Resources)) {
		m.when(!kindPattern.MatchString(kind), "resources", "%q cannot be a kind: take gpu, or the name of a partition such as mig-1g.10gb", kind)
		err := checkResource(c.Resources[kind])
		m.when(err != nil, "resources."+kind, "%w", err)
	}
}

// checkDRA says what of the rest does not go with a DRA driver.
func (c VendorConfig) checkDRA(m *mistakes) {
	m.when(c.Injection != injection.CDI && (c.Injection != "" || c.Serve), "injection",
		"%q does not go with through: %s, by which the kubelet takes CDI names alone: take injection %s", c.Injection, DRA, injection.CDI)
	m.when(!slices.Contains([]TaintEffect{"", NoSchedule, NoExecute}, c.UnhealthyTaint), "unhealthyTaint", "%q is not known: take %s or %s", c.UnhealthyTaint, NoSchedule, NoExecute)
	m.when(c.Shares > 1, "shares", "%d does not go with through: %s: leave it out, and share a device by naming its ResourceClaim in several pods", c.Shares, DRA)
	m.when(len(c.Resources) > 0, "resources", "%s does not go with through: %s, which has no resource names: leave it out, and write a DeviceClass for a name of your own",
		strings.Join(slices.Sorted(maps.Keys(c.Resources)), ", "), DRA)
}

// checkResource says what the kubelet would refuse a name for (IsExtendedResourceName of pkg/apis/core/v1/helper).
func checkResource(name string) error {
	domain, _, qualified := strings.Cut(name, "/")
	const remedy = "take a domain and a name, such as nvidia.com/gpu"
	switch {
	case !qualified:
		return fmt.Errorf("%q has no domain: %s", name, remedy)
	case strings.Contains(name, "kubernetes.io/"), strings.HasPrefix(name, "requests."):
		return fmt.Errorf("%q is in a domain of Kubernetes itself: %s", name, remedy)
	case strings.HasPrefix(name, v1alpha1.SlotPrefix):
		return fmt.Errorf("%q is how slots are named: %s", name, remedy)
	}
	if problems := validation.IsQualifiedName("requests." + name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be an extended resource (%s): %s", name, problems[0], remedy)
	}
	if len(domain) > 128 {
		return fmt.Errorf("%q has a domain of %d characters: take one of at most 128", name, len(domain))
	}
	return nil
}
