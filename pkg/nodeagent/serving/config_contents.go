package serving

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// nvidia is the vendor whose user libraries have to be of the very release of the node's driver.
const nvidia = "nvidia"

// maxChannels is how many IMEX channels NVIDIA's driver makes at most by default (NVreg_ImexChannelCount).
const maxChannels = 2048

// NeedsDriver says whether containers get what rankwright-cdi finds of NVIDIA's driver.
func (c Config) NeedsDriver() bool {
	v := c.Vendors[nvidia]
	return v.Serve && v.Injection == injection.CDI && v.CDIKind == "" && v.UserLibraries == ""
}

// settings are what the configuration says of the contents of containers, by vendor.
func (c Config) settings() map[string]injection.Settings {
	settings := map[string]injection.Settings{}
	for name, v := range c.Vendors {
		settings[name] = v.Settings
	}
	return settings
}

// checkContents says by what of the rest a container would lack what it needs, or get it twice.
func (c VendorConfig) checkContents(vendor string, m *mistakes) {
	c.checkLibraries(vendor, m)
	for i, channel := range c.IMEXChannels {
		m.when(channel < 0 || channel >= maxChannels || slices.Contains(c.IMEXChannels[:i], channel), "imexChannels",
			"%d is out of range or there twice: take numbers from 0 to %d, mostly 0 alone", channel, maxChannels-1)
	}
	channels := len(c.IMEXChannels) > 0
	m.when(channels && vendor != nvidia, "imexChannels", "%v has no use there: NVIDIA's devices alone have IMEX channels: leave it out", c.IMEXChannels)
	m.when(channels && vendor == nvidia && c.CDIKind != "", "imexChannels", "%v does not go with cdiKind %s, whose devices have no channels: leave one of the two out", c.IMEXChannels, c.CDIKind)
	m.when(c.AdditionalGIDs && (c.Injection != injection.CDI || c.CDIKind != ""), "additionalGids",
		"true needs injection %s and no cdiKind: only specifications of our own name groups: leave it out, and set supplementalGroups in pods", injection.CDI)
}

// checkLibraries refuses what would give a container a GPU of NVIDIA's and no libcuda.
func (c VendorConfig) checkLibraries(vendor string, m *mistakes) {
	const known = "take Runtime (NVIDIA's runtime, as the runtime class of every such pod or the default) or Image"
	said := c.UserLibraries != ""
	switch {
	case said && c.UserLibraries != injection.FromRuntime && c.UserLibraries != injection.FromImage:
		m.when(true, "userLibraries", "%q is not known: %s", c.UserLibraries, known)
	case vendor != nvidia:
		m.when(said, "userLibraries", "%q has no use there: images bring the libraries of all vendors but NVIDIA: leave it out", c.UserLibraries)
	case c.Serve && c.Injection == injection.DeviceNodes && !said:
		m.when(true, "injection", "%s gives containers no libcuda, which has to be that of the node's driver: take injection %s; or say in userLibraries who brings it: %s",
			c.Injection, injection.CDI, known)
	case c.Injection == injection.CDI && c.UserLibraries == injection.FromRuntime:
		m.when(true, "userLibraries", "%s does not go with injection %s, beside which NVIDIA's runtime adds nothing: leave it out, or take injection %s",
			c.UserLibraries, injection.CDI, injection.DeviceNodes)
	case c.CDIKind != "":
		m.when(said, "userLibraries", "%s does not go with cdiKind %s, whose specification has them: leave one of the two out", c.UserLibraries, c.CDIKind)
	}
}
