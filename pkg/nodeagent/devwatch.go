package nodeagent

import "regexp"

// deviceFolders are the folders below /dev that hold nodes of accelerators. Where one is absent, it is watched as soon as
// it comes.
var deviceFolders = []string{"accel", "dri", "infiniband", "nvidia-caps", "nvidia-caps-imex-channels", "tenstorrent", "vfio"}

// idleNode matches nodes that come and go with terminals, pods, containers and udev, and that no accelerator has.
var idleNode = regexp.MustCompile(`^(\.|tty|pt[smy]|vcs|loop|dm-|ram|zram|nbd|sr\d|fd|std|fuse|shm|mqueue|hugepages|input|snd|bus|char|block|disk|mapper|bsg|` +
	`log|core|null|zero|full|u?random|console|kmsg|watchdog|rtc|hpet|mem|port|net|cpu)`)
