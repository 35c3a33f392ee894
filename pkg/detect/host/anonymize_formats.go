package host

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

var word = regexp.MustCompile(`\S+`)

// hostsSpans replaces the names in hosts(5); the addresses are found by their form.
func (p *pseudonyms) hostsSpans(_, text string) []span {
	var spans []span
	at := 0
	for line := range strings.Lines(text) {
		content, _, _ := strings.Cut(line, "#")
		for i, w := range word.FindAllStringIndex(content, -1) {
			if i > 0 {
				spans = append(spans, span{at + w[0], at + w[1], p.host(content[w[0]:w[1]])})
			}
		}
		if len(content) < len(line) {
			spans = append(spans, span{at + len(content), at + len(line), "#\n"})
		}
		at += len(line)
	}
	return spans
}

// plainParameters are the kernel's parameters whose values say nothing but how the hardware is set up.
var plainParameters = regexp.MustCompile(`^(iommu|intel_iommu|amd_iommu|iommu\.\w+|pci|pcie_\w+|hugepages|hugepagesz|default_hugepagesz|isolcpus|` +
	`nohz_full|rcu_nocbs|console|mem|numa\w*|mitigations|cgroup\w*|systemd\.unified_cgroup_hierarchy|` +
	`(nvidia|nvidia_drm|amdgpu|i915|xe|nouveau|habanalabs|vfio\w*|vfio-pci)\.[\w-]+|(rd\.driver|modprobe|module)[._]blacklist)$`)

// cmdlineSpans replaces the values of all other parameters: a command line can hold anything, passwords included.
func (p *pseudonyms) cmdlineSpans(_, text string) []span {
	var spans []span
	for _, w := range word.FindAllStringIndex(text, -1) {
		key, value, _ := strings.Cut(text[w[0]:w[1]], "=")
		if value != "" && !plainParameters.MatchString(key) {
			start := w[0] + len(key) + 1
			spans = append(spans, span{start, w[1], p.named(kindParameter, "value", value)})
		}
	}
	return spans
}

// nodeDescSpans replaces the host in the description that InfiniBand drivers set: `host mlx5_0`.
func (p *pseudonyms) nodeDescSpans(place, text string) []span {
	words := word.FindAllStringIndex(text, -1)
	if len(words) != 2 || text[words[1][0]:words[1][1]] != path.Base(path.Dir(place)) {
		return nil
	}
	start, end := words[0][0], words[0][1]
	return []span{{start, end, p.host(text[start:end])}}
}

// mountSpans replaces, in the mounts of a process, the names of folders, volumes, servers and shares that are not those
// of every host. Mounts of cgroups stay: the recording has files by these names, in which only ids are replaced.
func (p *pseudonyms) mountSpans(place, text string) []span {
	var spans []span
	at := 0
	for line := range strings.Lines(text) {
		for _, field := range mountFields(path.Base(place), line) {
			for _, s := range p.stepSpans(line[field[0]:field[1]]) {
				spans = append(spans, span{at + field[0] + s.start, at + field[0] + s.end, s.text})
			}
		}
		at += len(line)
	}
	return spans
}

// mountFields are the parts of a line that name something: root, mount point, source and options of mountinfo; source,
// mount point and options of mounts. None for a cgroup.
func mountFields(format, line string) [][]int {
	fields := word.FindAllStringIndex(line, -1)
	text := func(i int) string { return line[fields[i][0]:fields[i][1]] }
	kind, named := 2, []int{0, 1, 3}
	if format == "mountinfo" {
		separator := slices.IndexFunc(fields, func(f []int) bool { return line[f[0]:f[1]] == "-" })
		if separator < 5 {
			return nil
		}
		kind, named = separator+1, []int{3, 4, separator + 2, separator + 3}
	}
	if len(fields) <= named[len(named)-1] || strings.HasPrefix(text(kind), "cgroup") {
		return nil
	}
	var found [][]int
	for _, i := range named {
		found = append(found, fields[i])
	}
	return found
}

// mountStep matches a step of a path, a server, or an option's key or value.
var mountStep = regexp.MustCompile(`[^/,:=\[\]]+`)

// plainSteps are the names that any host may have in its mounts, and the options of file systems.
var plainSteps = wholeWords(
	`\d+[kKmMgG%]?|[\d.]+|[0-9a-fA-F]{64}`,
	// Folders of every host.
	`var|lib|lib64|usr|bin|sbin|etc|dev|sys|proc|run|opt|mnt|media|home|root|tmp|srv|boot|efi|data|local|share`,
	// Of container runtimes and the kubelet.
	`kubelet|pods|plugins|containers?|containerd|docker|cri-o|crio|lxc|podman|storage|image|overlay\d?|overlayfs|overlay-\w+|`+
		`io\.containerd\.[\w.-]+|snapshots|sandboxes|rootfs|rootfs-\d+|merged|diff|work|fs|l|hosts|hostname|resolv\.conf|`+
		`volumes|volume-subpaths|kubernetes\.io~[\w-]+|termination-log|etc-hosts|serviceaccount|secrets|kubernetes\.io`,
	// Of the kernel, and device nodes.
	`shm|mqueue|pts|ptmx|console|null|zero|tty\d*|fd|firmware|efivars|debug|tracing|mapper|disk|by-[\w-]+|block|class|devices|`+
		`cgroup\d?|kernel|security|config|bpf|pstore|hugepages|huge|fuse|connections|driver|nvidia\S*|libnvidia\S*|libcuda\S*|`+
		`libnv\S*|libGL\S*|rocm\S*|kfd|dri|card\d+|renderD\d+|accel\d*|infiniband|uverbs\d+|`+
		`sd[a-z]+\d*|vd[a-z]+\d*|xvd[a-z]+\d*|nvme\d+n\d+(p\d+)?|dm-\d+|md\d+|loop\d+|sr\d+`,
	// File systems and their options.
	`tmpfs|devtmpfs|devpts|sysfs|ext[234]|xfs|btrfs|nfs\d?|ceph|none|rw|ro|relatime|noatime|nosuid|nodev|noexec|lowerdir\+?|`+
		`upperdir|workdir|size|mode|uid|gid|ptmxmode|inode\d*|nr_inodes|attr\d?|noquota|logbufs|logbsize|errors|remount-ro|`+
		`discard|stripe|seclabel|vers|rsize|wsize|namlen|hard|soft|proto|tcp|rdma|port|timeo|retrans|sec|addr|clientaddr|`+
		`local_lock|user_id|group_id|default_permissions|allow_other|max_read|blksize|redirect_dir|index|metacopy|xino|volatile|`+
		`userxattr|uuid|on|off|auto|nouuid|compress|space_cache|ssd|subvol|subvolid`,
)

// wholeWords matches a text that is one of the words.
func wholeWords(words ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(` + strings.Join(words, "|") + `)$`)
}

func (p *pseudonyms) stepSpans(field string) []span {
	var spans []span
	for _, at := range mountStep.FindAllStringIndex(field, -1) {
		step := field[at[0]:at[1]]
		_, known := p.wide[step]
		_, notAddress := netip.ParseAddr(step)
		if known || notAddress == nil || plainSteps.MatchString(step) || uuidForm.MatchString(step) || strings.HasSuffix(field[:at[0]], "/home/") {
			continue
		}
		spans = append(spans, span{at[0], at[1], p.named(kindStep, "step", step)})
	}
	return spans
}

// csvSpans replaces identifiers in tables whose columns are named in the first line, or were asked for in the command's
// arguments: `hl-smi -Q bus_id,uuid -f csv,noheader`.
func (p *pseudonyms) csvSpans(place, text string) []span {
	columns := askedColumns(place)
	var spans []span
	at := 0
	for line := range strings.Lines(text) {
		cells := csvCells(line)
		if columns == nil {
			for _, c := range cells {
				columns = append(columns, line[c[0]:c[1]])
			}
		}
		for i, c := range cells {
			if len(cells) != len(columns) || len(cells) < 2 {
				break
			}
			column, _, _ := strings.Cut(columns[i], " [")
			if line[c[0]:c[1]] != columns[i] {
				spans = append(spans, p.keyed(place, column, text, at+c[0], at+c[1])...)
			}
		}
		at += len(line)
	}
	return spans
}

// askedColumns are the columns that the arguments of a command name; none where they name none.
func askedColumns(command string) []string {
	_, arguments, _ := strings.Cut(command, " ")
	for argument := range strings.FieldsSeq(arguments) {
		_, list, isOption := strings.Cut(argument, "=")
		if !isOption {
			list = argument
		}
		if columns := strings.Split(list, ","); len(columns) > 1 && kindsIn(columns) {
			return columns
		}
	}
	return nil
}

func kindsIn(columns []string) bool {
	return slices.ContainsFunc(columns, func(column string) bool { return kindOf("", column) != "" })
}

// csvCells are where the cells of a line are, without the spaces and quotes around them.
func csvCells(line string) [][2]int {
	var cells [][2]int
	start, quoted := 0, false
	for i := 0; i <= len(line); i++ {
		if i < len(line) && line[i] == '"' {
			quoted = !quoted
		}
		if i < len(line) && (line[i] != ',' || quoted) {
			continue
		}
		cell := line[start:i]
		left := len(cell) - len(strings.TrimLeft(cell, " \t\""))
		cells = append(cells, [2]int{start + left, max(start+left, start+len(strings.TrimRight(cell, " \t\r\n\"")))})
		start = i + 1
	}
	return cells
}
