package intel

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// intelPlatform is what Intel calls a generation of its graphics.
type intelPlatform struct {
	name string
	// integrated says that it is a part of a processor and has no memory of its own.
	integrated bool
}

// intelPlatforms are by device id. Source: Linux, include/drm/intel/pciids.h; generations of processors before Tiger
// Lake are not told apart.
var intelPlatforms = func() map[string]intelPlatform {
	platforms := map[string]intelPlatform{}
	for _, p := range []struct {
		intelPlatform
		ids string
	}{
		{intelPlatform{"DG1", false}, "4905 4906 4907 4908 4909"},
		{intelPlatform{"Alchemist", false}, `56a0 56a1 56a2 56a3 56a4 56a5 56a6 56b0 56b1 56b2 56b3 56ba 56bb 56bc 56bd 56be 56bf
			5690 5691 5692 5693 5694 5695 5696 5697 56c0 56c1 56c2`},
		{intelPlatform{ponteVecchio, false}, "0b69 0b6e 0bd4 0bd5 0bd6 0bd7 0bd8 0bd9 0bda 0bdb 0be0 0be1 0be5"},
		{intelPlatform{"Battlemage", false}, "e202 e209 e20b e20c e20d e210 e211 e212 e216 e220 e221 e222 e223"},
		{intelPlatform{"Crescent Island", false}, "674c 674d 674e 674f 6750"},
		{intelPlatform{"Tiger Lake", true}, "9a60 9a68 9a70 9a40 9a49 9a59 9a78 9ac0 9ac9 9ad9 9af8"},
		{intelPlatform{"Rocket Lake", true}, "4c80 4c8a 4c8b 4c8c 4c90 4c9a"},
		{intelPlatform{"Alder Lake", true}, `4680 4682 4688 468a 468b 4690 4692 4693 46a0 46a1 46a2 46a3 46a6 46a8 46aa 462a 4626 4628
			46b0 46b1 46b2 46b3 46c0 46c1 46c2 46c3 46d0 46d1 46d2 46d3 46d4`},
		{intelPlatform{"Raptor Lake", true}, `a780 a781 a782 a783 a788 a789 a78a a78b a721 a7a1 a7a9 a7ac a7ad a720 a7a0 a7a8 a7aa a7ab`},
		{intelPlatform{"Meteor Lake", true}, "7d40 7d45 7d55 7d60 7dd5"},
		{intelPlatform{"Arrow Lake", true}, "7d51 7dd1 7d41 7d67 b640"},
		{intelPlatform{"Lunar Lake", true}, "6420 64a0 64b0"},
		{intelPlatform{"Panther Lake", true}, "b080 b081 b082 b083 b084 b085 b086 b087 b08f b090 b0a0 b0b0"},
		{intelPlatform{"Wildcat Lake", true}, "fd80 fd81"},
		{intelPlatform{"Nova Lake", true}, "d740 d741 d742 d743 d745 d74a d74b d750 d751 d752 d753 d754 d755 d756 d757 d75f"},
	} {
		for id := range strings.FieldsSeq(p.ids) {
			platforms[id] = p.intelPlatform
		}
	}
	return platforms
}()

// divisible says whether a card with the id can be divided into virtual functions (SR-IOV). A guest cannot tell one from a
// whole card by its id, but the kernel shows the capability of whole cards on their host. These are Data Center GPU Max and
// Flex, and Arc Pro B-series; the captured Arc B580 has no such capability.
func (p intelPlatform) divisible(deviceID string) bool {
	return p.name == ponteVecchio || slices.Contains([]string{"56c0", "56c1", "56c2", "e211", "e212", "e222", "e223"}, deviceID)
}

const ponteVecchio = "Ponte Vecchio"

// intelPlatformOf is the platform of a function. Graphics of a processor whose id is not known sit on the root bus as
// device 2; in a virtual machine a card may sit there, too, so the id decides where it is known.
func intelPlatformOf(f pci.Function) intelPlatform {
	if platform, ok := intelPlatforms[f.DeviceID]; ok {
		return platform
	}
	return intelPlatform{integrated: len(f.Bridges) == 0 && strings.HasSuffix(f.Address, ":00:02.0")}
}
