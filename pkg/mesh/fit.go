package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
)

// ForWorld makes a mesh as New does and refuses a mesh whose number of ranks is not world, the number of devices. The error
// says how many devices are left over or missing.
func ForWorld(world int, order string, sizes map[string]int) (*Mesh, error) {
	if world < 1 || world > MaxWorldSize {
		return nil, fmt.Errorf("the number of devices is %d: it must be 1 to %d", world, MaxWorldSize)
	}
	m, err := New(order, sizes)
	if err != nil {
		return nil, err
	}
	if err := m.checkDevices(world); err != nil {
		return nil, err
	}
	return m, nil
}

// checkDevices refuses another number of devices than of ranks, and says what would make the mesh fit them.
func (m *Mesh) checkDevices(devices int) error {
	if devices == m.world {
		return nil
	}
	fits := fmt.Sprintf("use sizes whose product is %d, or %s", devices, words.Counted(m.world, "device"))
	missing := fmt.Sprintf("%d are missing", m.world-devices)
	if devices > m.world {
		missing = fmt.Sprintf("%d would be left over", devices-m.world)
		if devices%m.world == 0 {
			fits = fmt.Sprintf("make one of the sizes %d times as large", devices/m.world)
		}
	}
	return fmt.Errorf("%s makes %s, and there are %s: %s; %s", m.Shape(), words.Counted(m.world, "rank"), words.Counted(devices, "device"), missing, fits)
}
